/** Programs that search, pack, show and edit files. */
import { mean, refused } from './build-grammar.ts';
import type { Programs } from './grammar.ts';

export const files: Programs = {
  find: {
    longWithOneDash: true,
    options: {
      ...mean('data', '-name -iname -path -ipath -wholename -regex -iregex -printf -size -mtime -mmin -type'),
      ...mean('exec', '-exec -execdir -ok -okdir'),
      ...mean('removes', '-delete'),
      ...mean('writes', '-fprint -fprint0 -fls -fprintf'),
      ...mean('names', '-files0-from'),
    },
  },
  fd: {
    options: {
      ...mean('rest', '-x --exec -X --exec-batch'),
      ...mean('value', '-e --extension -t --type -d --max-depth -E --exclude -g --glob'),
    },
  },
  tar: {
    bundled: true,
    options: {
      ...mean(
        'refused',
        '-I --use-compress-program --checkpoint-action --to-command --rsh-command --rmt-command -F --info-script --new-volume-script --index-file',
      ),
      ...mean('names', '-T --files-from -X'),
      ...mean(
        'value',
        '-f --file -C --directory --exclude --transform --xform -b --blocking-factor -K --strip-components --owner --group --mode --mtime',
      ),
    },
  },
  cpio: { readsNames: true, options: mean('refused', '--rsh-command --to-stdout-command') },
  zip: { options: { ...mean('refused', '-TT --unzip-command -T --test'), ...mean('names', '-@') } },
  split: { options: { ...mean('text', '--filter'), ...mean('value', '-b -l -n -a -C') } },
  sort: {
    options: {
      ...mean('program', '--compress-program'),
      ...mean('names', '--files0-from'),
      ...mean('value', '-k --key -t --field-separator -o --output -S --buffer-size -T --temporary-directory'),
    },
  },
  wc: { options: mean('names', '--files0-from') },
  du: { options: mean('names', '--files0-from') },
  rg: {
    pattern: true,
    options: {
      ...mean('pattern', '-e --regexp'),
      ...mean('patterns', '-f --file'),
      ...mean('program', '--pre'),
      ...mean('refused', '--hostname-bin'),
      ...mean(
        'value',
        '-g --glob -t --type -A -B -C -m --max-count --pre-glob -T --type-not -r --replace -j --threads --max-depth -d -E --encoding --sort --color --colors',
      ),
    },
  },
  ag: { pattern: true, options: mean('refused', '--pager') },
  grep: {
    pattern: true,
    options: {
      ...mean('value', '-A -B -C -m --max-count --include --exclude --exclude-dir --color --label -D -d'),
      ...mean('pattern', '-e --regexp'),
      ...mean('patterns', '-f --file'),
    },
  },
  man: {
    options: mean('refused', '-P --pager -H --html -T -X --gxditview -C --config-file -p --preprocessor'),
  },
  less: { options: mean('refused', '+ -k -o -O --lesskey-file --lesskey-src --log-file --LOG-FILE') },
  more: refused,
  vi: refused,
  vim: refused,
  nvim: refused,
  view: refused,
  ex: refused,
  ed: refused,
  nano: refused,
  emacs: refused,
  echo: { operandsAreData: true },
  printf: { operandsAreData: true },
  tr: { operandsAreData: true },
  cut: { options: mean('data', '-d --delimiter -f --fields -c -b') },
};
