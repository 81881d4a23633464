/**
 * Writes the generated files, pages of docs/ and the schema of contracts: `npm run docs`. With `--check` it writes
 * nothing and fails if a file is out of date.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { parseArgs } from 'node:util';
import { renderApi } from './render-api.ts';
import { renderBypasses } from './render-bypasses.ts';
import { renderCli } from './render-cli.ts';
import { renderConfig } from './render-config.ts';
import { renderContracts } from './render-contracts.ts';
import { renderDocs } from './render-docs.ts';
import { renderEvents } from './render-events.ts';
import { renderGlossary } from './render-glossary.ts';
import { renderCookbook, renderIndex } from './render-handbook.ts';
import { renderMatrix } from './render-matrix.ts';
import { renderReadmes } from './render-readmes.ts';

const { values } = parseArgs({ options: { check: { type: 'boolean', default: false } } });
const root = join(import.meta.dirname, '..');
const drifted: string[] = [];
const update = (files: Iterable<readonly [path: string, text: string]>): void => {
  for (const [path, text] of files) {
    const file = join(root, path);
    if (existsSync(file) && readFileSync(file, 'utf8') === text) continue;
    drifted.push(path);
    if (values.check) continue;
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
  }
};
update([
  ...(await renderDocs()),
  ...(await renderApi()),
  ...(await renderBypasses()),
  ...(await renderCli()),
  ...(await renderConfig()),
  ...renderContracts(),
  ...(await renderReadmes()),
  ...(await renderCookbook()),
  ...(await renderEvents()),
  ...(await renderGlossary()),
  ...(await renderMatrix()),
]);
// It takes the titles of the pages above.
update(await renderIndex());
if (values.check && drifted.length > 0) {
  console.error(`Out of date: ${drifted.join(', ')}. Update them with: npm run docs`);
  process.exitCode = 1;
} else
  console.log(drifted.length === 0 ? 'Every generated page is up to date.' : `Wrote ${drifted.join(', ')}.`);
