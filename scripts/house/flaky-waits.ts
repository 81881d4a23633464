import ts from 'typescript';
import type { Hit } from './tics.ts';

/**
 * Waits in tests that fail on a busy machine:
 *
 * - A promise that is expected to reject, and something else is awaited first. If it rejects meanwhile, the rejection is
 *   unhandled, and Vitest fails the run. Handle it where it is made: `promise.catch(() => undefined)`.
 * - Promises of a list that are expected to reject one after another. The same, for all but the first.
 * - `vi.waitFor`, which gives up after a second, and `expect.poll` with a time limit of its own.
 * - A sleep before an expectation: what the test waits for may take longer.
 * - An upper bound on elapsed time.
 *
 * Also a short word that must not occur in a text: an id or a signature in the text may contain it by chance.
 */
export function findFlakyWaits(tree: ts.SourceFile): Hit[] {
  const hits: Hit[] = [];
  const add = (node: ts.Node, found: string, instead: string): void => {
    const line = tree.getLineAndCharacterOfPosition(node.getStart(tree)).line + 1;
    hits.push({ tic: 'flaky wait', line, found, instead, sentence: node.getText(tree) });
  };
  const textOf = (node: ts.Node): string => node.getText(tree);
  const constants = constantTexts(tree);
  const visit = (node: ts.Node): void => {
    if (isCallOf(node, 'vi', 'waitFor') && !tree.fileName.endsWith('/eventually.ts'))
      add(node, 'vi.waitFor', 'eventually() of test/eventually.ts, which waits longer');
    if (isCallOf(node, 'expect', 'poll') && hasOwnLimit(node, textOf))
      add(node, 'expect.poll with a time limit', 'the limit of vitest.config.ts, which suits a busy machine');
    if (isUpperBound(node, textOf))
      add(node, 'a bound on elapsed time', 'cpuMsOf(), a manual clock, or a count');
    for (const word of absentWords(node, constants, textOf).filter(isInIds))
      add(node, `absence of '${word}', which ids contain by chance`, 'a mark of 12 letters from g to z');
    if (ts.isForOfStatement(node) && !ts.isAwaitExpression(node.expression)) {
      const [name] = namesOf(node.initializer);
      if (name !== undefined && expectsRejection(node.statement, name))
        add(node, `expect(${name}).rejects in a loop`, 'Promise.allSettled, or add catch() to each promise');
    }
    if (ts.isBlock(node) || ts.isSourceFile(node))
      for (const [index, statement] of node.statements.entries()) {
        const next = node.statements[index + 1];
        if (isSleep(statement, textOf) && next !== undefined && /\bexpect\(/.test(textOf(next)))
          add(statement, 'a sleep before expect', 'eventually(), a manual clock, or a promise');
        for (const name of startedIn(statement))
          if (isHandledLate(node.statements.slice(index + 1), name))
            add(statement, `${name} may reject unobserved`, `${name}.catch(() => undefined) right after it`);
      }
    ts.forEachChild(node, visit);
  };
  visit(tree);
  return hits;
}

/** Is something else awaited before a rejection is expected? */
function isHandledLate(statements: readonly ts.Statement[], name: string): boolean {
  let isAwaited = false;
  for (const statement of statements) {
    if (some(statement, (node) => isCallOf(node, name, 'catch') || isCallOf(node, name, 'then')))
      return false;
    if (expectsRejection(statement, name)) return isAwaited;
    isAwaited ||= some(statement, ts.isAwaitExpression);
  }
  return false;
}

/** Constants that hold a running promise, as far as the syntax tells. */
function startedIn(statement: ts.Statement): readonly string[] {
  if (!ts.isVariableStatement(statement)) return [];
  return statement.declarationList.declarations.flatMap(({ name, initializer }) =>
    initializer !== undefined && ts.isIdentifier(name) && ts.isCallExpression(initializer) ? [name.text] : [],
  );
}

const namesOf = (initializer: ts.ForInitializer): readonly string[] =>
  ts.isVariableDeclarationList(initializer)
    ? initializer.declarations.flatMap(({ name }) => (ts.isIdentifier(name) ? [name.text] : []))
    : [];

/** `expect(name).rejects` */
const expectsRejection = (node: ts.Node, name: string): boolean =>
  some(
    node,
    (child) =>
      ts.isPropertyAccessExpression(child) &&
      child.name.text === 'rejects' &&
      ts.isCallExpression(child.expression) &&
      child.expression.arguments.some((argument) => ts.isIdentifier(argument) && argument.text === name),
  );

/** `object.method(…)` */
const isCallOf = (node: ts.Node, object: string, method: string): node is ts.CallExpression =>
  ts.isCallExpression(node) &&
  ts.isPropertyAccessExpression(node.expression) &&
  node.expression.name.text === method &&
  ts.isIdentifier(node.expression.expression) &&
  node.expression.expression.text === object;

/** Does the node or a part of it match? Functions in it run at another time, so they do not count. */
function some(node: ts.Node, matches: (node: ts.Node) => boolean): boolean {
  if (matches(node)) return true;
  return ts.forEachChild(node, (child) => !ts.isFunctionLike(child) && some(child, matches)) ?? false;
}

type TextOf = (node: ts.Node) => string;

const hasOwnLimit = (node: ts.CallExpression, textOf: TextOf): boolean =>
  node.arguments
    .filter(ts.isObjectLiteralExpression)
    .some(({ properties }) =>
      properties.some(({ name }) => name !== undefined && textOf(name) === 'timeout'),
    );

/** `await sleep(20)`, or `await new Promise((resolve) => setTimeout(resolve, 20))` */
function isSleep(node: ts.Statement, textOf: TextOf): boolean {
  if (!ts.isExpressionStatement(node) || !ts.isAwaitExpression(node.expression)) return false;
  const { expression } = node.expression;
  if (ts.isCallExpression(expression)) return ['sleep', 'delay'].includes(textOf(expression.expression));
  return ts.isNewExpression(expression) && /^new Promise\b[^]*\bsetTimeout\(/.test(textOf(expression));
}

/** `expect(performance.now() - before).toBeLessThan(…)` */
const isUpperBound = (node: ts.Node, textOf: TextOf): boolean =>
  ts.isCallExpression(node) &&
  ts.isPropertyAccessExpression(node.expression) &&
  node.expression.name.text.startsWith('toBeLessThan') &&
  /\b(?:performance|Date)\.now\(\) -/.test(textOf(node.expression.expression));

type Texts = ReadonlyMap<string, readonly string[]>;

/** The texts of `const name = 'text'` and `for (const name of ['text', …])`, if a name has one declaration. */
function constantTexts(tree: ts.SourceFile): Texts {
  const found = new Map<string, readonly string[]>();
  const add = (name: ts.BindingName, texts: readonly ts.Expression[]): void => {
    if (ts.isIdentifier(name))
      found.set(
        name.text,
        found.has(name.text) ? [] : texts.filter(ts.isStringLiteral).map(({ text }) => text),
      );
  };
  const visit = (node: ts.Node): void => {
    if (ts.isVariableDeclaration(node) && node.initializer !== undefined) add(node.name, [node.initializer]);
    if (ts.isForOfStatement(node) && ts.isVariableDeclarationList(node.initializer))
      for (const { name } of node.initializer.declarations)
        add(name, ts.isArrayLiteralExpression(node.expression) ? node.expression.elements : []);
    ts.forEachChild(node, visit);
  };
  visit(tree);
  return found;
}

/** The words of `expect(text).not.toContain('word')` and `expect(text).not.toMatch(/one|two/)`, if that is a text. */
function absentWords(node: ts.Node, constants: Texts, textOf: TextOf): readonly string[] {
  const [word] = ts.isCallExpression(node) ? node.arguments : [];
  if (word === undefined || !ts.isCallExpression(node)) return [];
  const [, subject = '', method] = /^expect\(([^]*)\)\.not\.(\w+)$/.exec(textOf(node.expression)) ?? [];
  if (!/JSON\.stringify\(|\b(?:text|body|bodies|bytes|out|events|html|stored)\b/.test(subject)) return [];
  if (method === 'toMatch' && ts.isRegularExpressionLiteral(word)) return word.text.slice(1, -1).split('|');
  if (method !== 'toContain') return [];
  return ts.isStringLiteral(word) ? [word.text] : (constants.get(textOf(word)) ?? []);
}

/** Could a random id, digest or signature contain it? Digests have fewer letters, so they contain longer words. */
const isInIds = (word: string): boolean =>
  /^[a-z\d-]+$/i.test(word) && word.length < (/^[\da-f-]+$/i.test(word) ? 8 : 6);
