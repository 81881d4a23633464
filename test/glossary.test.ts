import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';
import { describe, expect, test } from 'vitest';
import { outcomeTerms, retiredWords, terms } from '../scripts/glossary.ts';
import { renderGlossary } from '../scripts/render-glossary.ts';
import { outcomeTypes } from '../packages/quittance/src/call/outcome.ts';
import { commands } from '../packages/cli/src/commands.ts';
import { outcomeChoices, standing } from '../packages/cli/src/outcome-query.ts';
import {
  outcomeTypeLabels,
  outcomeWord,
  outcomeWords,
} from '../packages/quittance/src/view/outcome-words.ts';
import { statusWords } from '../packages/quittance/src/view/status-words.ts';
import { declaredNames, exportsOf, readNamedSources, wordsOf } from './exported-names.ts';
import { root, walk, type Source } from './sources.ts';

const sources = readNamedSources();
const isConsole = ({ path }: Source): boolean => path.startsWith('packages/console/');

describe('docs/glossary.md', () => {
  test('matches the table (npm run docs writes it again)', async () => {
    for (const [path, text] of await renderGlossary())
      expect(readFileSync(join(root, path), 'utf8')).toBe(text);
  });

  test('names code that exists', () => {
    const known = new Set(sources.flatMap(exportsOf).map(({ name }) => name));
    const unknown = terms.flatMap(({ code = [] }) => code.filter((name) => !known.has(name)));
    expect(unknown).toEqual([]);
  });

  test('names commands that exist', () => {
    const known = new Set(commands.map(({ name }) => name));
    expect(terms.flatMap(({ cli = [] }) => cli.filter((name) => !known.has(name)))).toEqual([]);
  });

  test('names labels that the console shows', () => {
    const shown = new Set(sources.filter(isConsole).flatMap(shownTexts));
    expect(terms.flatMap(({ console: labels = [] }) => labels.filter((label) => !shown.has(label)))).toEqual(
      [],
    );
  });

  test('has each term once', () => {
    expect(new Set(terms.map(({ term }) => term)).size).toBe(terms.length);
  });
});

describe('the word for how a call ended', () => {
  test('is the same in the CLI, the console, the React components and the glossary', () => {
    expect(Object.keys(outcomeTerms)).toEqual(Object.keys(outcomeWords));
    for (const [word, { label, types }] of Object.entries(outcomeWords)) {
      expect(outcomeChoices).toContain(word);
      expect(statusWords[word as keyof typeof outcomeWords].label.toLowerCase()).toBe(label);
      const code = word === 'indeterminate' ? 'tool.indeterminate' : undefined;
      for (const type of types) {
        expect(outcomeWord({ type, code })).toBe(word);
        expect(standing({ outcome: type, status: 'settled', code })).toBe(label);
      }
    }
  });

  test('covers every type of outcome', () => {
    expect(Object.keys(outcomeTypeLabels).toSorted()).toEqual(Object.keys(outcomeTypes).toSorted());
    for (const label of Object.values(outcomeTypeLabels))
      expect(Object.values(outcomeWords).some((word) => label.startsWith(word.label))).toBe(true);
  });

  test('is written only in the table: the console and the CLI use it', () => {
    const labels = new Set(Object.values(outcomeWords).map(({ label }) => label));
    const written = sources
      .filter((source) => isConsole(source) && /outcome|chart/.test(source.path))
      .flatMap((source) => shownTexts(source).map((text) => ({ path: source.path, text })))
      .filter(({ text }) => labels.has(text) && text.includes(' '));
    expect(written).toEqual([]);
  });
});

/** An option of the TOML parser has the other spelling. */
const isOurs = (name: string): boolean => name !== 'unsafeKeyBehaviour';

describe('a retired word', () => {
  const patterns = retiredWords.map(({ word, instead, inTexts }) => ({
    instead,
    inTexts,
    pattern: new RegExp(String.raw`\b${word}\b`, 'i'),
  }));

  const inTexts = patterns.filter((each) => !each.inTexts);

  test('is in no identifier and no file name', () => {
    const found = sources.flatMap((source) =>
      [...declaredNames(source), source.path.replace(/^.*\//, '')]
        .filter(isOurs)
        .flatMap((name) =>
          patterns
            .filter(({ pattern }) => pattern.test(wordsOf(name).join(' ')))
            .map(({ instead }) => `${source.path}: ${name} (use: ${instead})`),
        ),
    );
    expect(found).toEqual([]);
  });

  test('is in no help text of the CLI', () => {
    const texts = commands.flatMap(({ name, summary, about = [], options, examples }) => [
      name,
      summary,
      ...about,
      ...Object.entries(options).flatMap(([option, { help }]) => [option, help]),
      ...examples.map(([, what]) => what),
    ]);
    expect(texts.filter((text) => inTexts.some(({ pattern }) => pattern.test(text)))).toEqual([]);
  });

  test('is in no text of the console', () => {
    const found = sources
      .filter(isConsole)
      .flatMap((source) => shownTexts(source).map((text) => `${source.path}: ${text}`))
      .filter((text) => inTexts.some(({ pattern }) => pattern.test(text)));
    expect(found).toEqual([]);
  });
});

/** Texts that a page may show: string literals and the text between tags. Imports and types are left out. */
function shownTexts({ tree }: Source): readonly string[] {
  const found: string[] = [];
  walk(tree, (node) => {
    if (ts.isJsxText(node)) found.push(node.text.trim());
    else if (ts.isTemplateHead(node) || ts.isTemplateMiddle(node) || ts.isTemplateTail(node))
      found.push(node.text);
    else if (ts.isStringLiteralLike(node) && !isSpecifier(node) && !isClassName(node)) found.push(node.text);
  });
  return found.filter((text) => text !== '');
}

const isSpecifier = ({ parent }: ts.Node): boolean =>
  ts.isImportDeclaration(parent) || ts.isExportDeclaration(parent) || ts.isLiteralTypeNode(parent);
const isClassName = ({ parent }: ts.Node): boolean =>
  ts.isJsxAttribute(parent) && parent.name.getText() === 'className';
