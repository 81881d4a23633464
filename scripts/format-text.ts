/** Formats generated text as `npm run format` would format the file at `path`. */
import { readFileSync } from 'node:fs';
import { join, matchesGlob } from 'node:path';
import type { FormatOptions } from 'oxfmt';
import { format } from 'oxfmt';

/** The parts of `.oxfmtrc.json` that are not options. `format` does not read the file itself. */
type Config = FormatOptions & {
  readonly overrides: readonly { readonly files: readonly string[]; readonly options: FormatOptions }[];
  readonly ignorePatterns: readonly string[];
};

export async function formatText(path: string, text: string): Promise<string> {
  const file = join(import.meta.dirname, '../.oxfmtrc.json');
  // The file is part of this repository.
  const { overrides, ignorePatterns: _, ...common } = JSON.parse(readFileSync(file, 'utf8')) as Config;
  const special = overrides.filter(({ files }) => files.some((pattern) => matchesGlob(path, pattern)));
  const options = Object.assign({}, common, ...special.map((each) => each.options)) as FormatOptions;
  const { code, errors } = await format(path, text, options);
  if (errors.length === 0) return code;
  throw new Error(`${path} cannot be formatted: ${errors.map(({ message }) => message).join('; ')}`);
}
