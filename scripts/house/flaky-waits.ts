import ts from 'typescript';
import type { Hit } from './tics.ts';

/**
 * Waits in tests that fail on a busy machine:
 *
 * - A promise that is expected to reject, and something else is awaited first. If it rejects meanwhile, the rejection is
 *   unhandled, and Vitest fails the run. Handle it where it is made: `promise.catch(() => undefined)`.
 * - Promises of a list that are expected to reject one after another. The same, for all but the first.
 * - `vi.waitFor`, which gives up after a second.
 */
export function findFlakyWaits(tree: ts.SourceFile): Hit[] {
  const hits: Hit[] = [];
  const add = (node: ts.Node, found: string, instead: string): void => {
    const line = tree.getLineAndCharacterOfPosition(node.getStart(tree)).line + 1;
    hits.push({ tic: 'flaky wait', line, found, instead, sentence: node.getText(tree) });
  };
  const visit = (node: ts.Node): void => {
    if (isCallOf(node, 'vi', 'waitFor') && !tree.fileName.endsWith('/eventually.ts'))
      add(node, 'vi.waitFor', 'eventually() of test/eventually.ts, which waits longer');
    if (ts.isForOfStatement(node) && !ts.isAwaitExpression(node.expression)) {
      const [name] = namesOf(node.initializer);
      if (name !== undefined && expectsRejection(node.statement, name))
        add(node, `expect(${name}).rejects in a loop`, 'Promise.allSettled, or add catch() to each promise');
    }
    if (ts.isBlock(node) || ts.isSourceFile(node))
      for (const [index, statement] of node.statements.entries())
        for (const name of startedIn(statement))
          if (isHandledLate(node.statements.slice(index + 1), name))
            add(statement, `${name} may reject unobserved`, `${name}.catch(() => undefined) right after it`);
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
const isCallOf = (node: ts.Node, object: string, method: string): boolean =>
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
