test ! -e dist/old.tgz || { echo 'dist/ contains an old archive' >&2; exit 1; }
echo packaged
