import { basename } from 'node:path';
import ts from 'typescript';

export const longestFunction = 80;

export type FunctionLength = {
  /** File name and function name, so that a file can move. */
  readonly key: string;
  readonly line: number;
  readonly lines: number;
};

/** Functions of more than 80 lines. A function that is mostly one list or object is a table, and may be longer. */
export function longFunctions(file: string, tree: ts.SourceFile): FunctionLength[] {
  const found: FunctionLength[] = [];
  const lineOf = (position: number): number => tree.getLineAndCharacterOfPosition(position).line + 1;
  const span = (node: ts.Node): number => lineOf(node.end) - lineOf(node.getStart(tree)) + 1;
  const visit = (node: ts.Node, name: string): void => {
    const named = nameOf(node) ?? name;
    if (hasBody(node) && span(node) > longestFunction && !isTable(node, span))
      found.push({
        key: `${basename(file)} ${named}`,
        line: lineOf(node.getStart(tree)),
        lines: span(node),
      });
    ts.forEachChild(node, (child) => visit(child, named));
  };
  visit(tree, 'anonymous');
  return found;
}

function hasBody(node: ts.Node): boolean {
  return (
    (ts.isFunctionDeclaration(node) ||
      ts.isMethodDeclaration(node) ||
      ts.isConstructorDeclaration(node) ||
      ts.isAccessor(node) ||
      ts.isFunctionExpression(node) ||
      ts.isArrowFunction(node)) &&
    node.body !== undefined
  );
}

/** A literal takes at least three quarters of its lines. */
function isTable(node: ts.Node, span: (node: ts.Node) => number): boolean {
  const isLarge = (child: ts.Node): boolean =>
    ((ts.isArrayLiteralExpression(child) || ts.isObjectLiteralExpression(child)) &&
      span(child) >= span(node) * 0.75) ||
    (ts.forEachChild(child, isLarge) ?? false);
  return isLarge(node);
}

/** The name of a declaration; a function expression has the name of the constant or member that holds it. */
function nameOf(node: ts.Node): string | undefined {
  if (ts.isVariableDeclaration(node) || ts.isPropertyAssignment(node) || ts.isFunctionDeclaration(node))
    return node.name !== undefined && 'text' in node.name ? String(node.name.text) : undefined;
  if (ts.isMethodDeclaration(node)) return 'text' in node.name ? String(node.name.text) : undefined;
  return undefined;
}
