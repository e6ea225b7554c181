# boris for Nix, from the clone or tarball that this is in: nix-build packaging.
# Parsed and evaluated only: no nixpkgs was to be had where this was written.
{ pkgs ? import <nixpkgs> { } }:

pkgs.stdenv.mkDerivation {
  name = "boris";
  src = pkgs.lib.cleanSource ../.;
  makeFlags = [ "PREFIX=${placeholder "out"}" ];
  meta = {
    description = "MCP server that gives an AI agent a shell";
    license = pkgs.lib.licenses.isc;
    mainProgram = "boris";
    platforms = pkgs.lib.platforms.unix;
  };
}
