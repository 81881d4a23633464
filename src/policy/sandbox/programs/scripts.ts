/** Programs with a small language of their own. */
import { mean } from './build-grammar.ts';
import type { Programs } from './grammar.ts';

export const scripts: Programs = {
  awk: {
    script: 'awk',
    options: {
      ...mean('data', '-F --field-separator'),
      ...mean('value', '-v --assign'),
      ...mean('script', '-e --source'),
      ...mean(
        'refused',
        '-f --file -E --exec -i --include -l --load -D --debug -p --profile -o --pretty-print',
      ),
    },
  },
  sed: {
    script: 'sed',
    options: {
      ...mean('script', '-e --expression'),
      ...mean('value', '-l --line-length'),
      ...mean('refused', '-f --file'),
      ...mean('flag', '-n -E -r -s -z -u -i --in-place --regexp-extended --quiet --silent'),
    },
  },
  sqlite3: {
    scripts: 'sql',
    options: {
      ...mean('refused', '-init -cmd -A --init --cmd'),
      ...mean('value', '-separator -nullvalue -newline -vfs -maxsize'),
    },
    longWithOneDash: true,
  },
  psql: {
    options: {
      ...mean('script', '-c --command'),
      ...mean('refused', '-f --file -o --output -L'),
      ...mean('host', '-h --host'),
      ...mean('value', '-p --port -U --username -d --dbname -F -R -T -v -P'),
    },
    script: 'sql',
    scriptsInOptions: true,
  },
  mysql: {
    options: {
      ...mean('script', '-e --execute'),
      ...mean('host', '-h --host'),
      ...mean('value', '-P --port -u --user -D --database -S --socket'),
      ...mean('refused', '--pager --plugin-dir --init-command'),
    },
    script: 'sql',
    scriptsInOptions: true,
  },
  jq: {
    pattern: true,
    options: {
      ...mean('data', '--indent'),
      // Some take two values, so the filter cannot be distinguished from a file.
      ...mean('patterns', '-f --from-file --arg --argjson --slurpfile --rawfile --args --jsonargs'),
      ...mean('value', '-L'),
    },
  },
  yq: { pattern: true },
};
