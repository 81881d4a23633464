/**
 * Measures which tests reach which code. Each block of a source file gets a probe that writes to a file, once per
 * process, that the block ran. It writes at once, so a killed process leaves its notes. Child processes and threads
 * only need the source they load.
 */
import ts from 'typescript';

/** Stands for the module itself: the code that runs when it is loaded. */
export const moduleBlock = -1;

type Insertion = { readonly at: number; readonly text: string; readonly order: number };

/** The source with a probe at the start of every block. `log` is the file the probes write to. */
export function addProbes(path: string, text: string, log: string): string {
  const tree = parse(path, text);
  const insertions: Insertion[] = [];
  let count = 0;
  visitBlocks(tree, (block) => {
    const hit = `$reached(${count++})`;
    const { start, end, form } = block;
    if (form === 'list') insertions.push({ at: start, text: ` ${hit};`, order: 1 });
    else if (form === 'statement')
      insertions.push({ at: start, text: `{ ${hit}; `, order: 1 }, { at: end, text: ' }', order: -start });
    else insertions.push({ at: start, text: `(${hit}, `, order: 1 }, { at: end, text: ')', order: -start });
  });
  return `${insert(text, insertions)}\n${probeOf(path, log, count)}`;
}

/** The number of the innermost block around a place, as numbered by `addProbes`; undefined outside all blocks. */
export function blockAt(path: string, text: string, place: number): number | undefined {
  let number = 0;
  let found: number | undefined;
  let size = Infinity;
  visitBlocks(parse(path, text), ({ start, end }) => {
    if (start <= place && place < end && end - start < size) {
      found = number;
      size = end - start;
    }
    number++;
  });
  return found;
}

const parse = (path: string, text: string): ts.SourceFile =>
  ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true);

type Block = {
  readonly start: number;
  readonly end: number;
  readonly form: 'list' | 'statement' | 'expression';
};

function visitBlocks(tree: ts.SourceFile, seen: (block: Block) => void): void {
  const single = (node: ts.Statement | undefined): void => {
    if (node !== undefined && !ts.isBlock(node))
      seen({ start: node.getStart(tree), end: node.getEnd(), form: 'statement' });
  };
  const expression = (node: ts.Node): void =>
    seen({ start: node.getStart(tree), end: node.getEnd(), form: 'expression' });
  const visit = (node: ts.Node): void => {
    if (ts.isTypeNode(node)) return;
    if (ts.isBlock(node)) seen({ start: node.getStart(tree) + 1, end: node.getEnd(), form: 'list' });
    else if (ts.isCaseOrDefaultClause(node)) {
      const first = node.statements[0];
      if (first !== undefined && !ts.isBlock(first))
        seen({ start: first.getStart(tree), end: node.getEnd(), form: 'list' });
    } else if (ts.isIfStatement(node)) {
      single(node.thenStatement);
      single(node.elseStatement);
    } else if (ts.isIterationStatement(node, false)) single(node.statement);
    else if (ts.isArrowFunction(node) && !ts.isBlock(node.body)) expression(node.body);
    else if (ts.isConditionalExpression(node)) {
      expression(node.whenTrue);
      expression(node.whenFalse);
    }
    ts.forEachChild(node, visit);
  };
  visit(tree);
}

function insert(text: string, insertions: readonly Insertion[]): string {
  const inOrder = insertions.toSorted((a, b) => a.at - b.at || a.order - b.order);
  let out = '';
  let from = 0;
  for (const { at, text: added } of inOrder) {
    out += text.slice(from, at) + added;
    from = at;
  }
  return out + text.slice(from);
}

/** At the end of the file, so that no line moves. Function declarations exist before the module runs. */
const probeOf = (path: string, log: string, count: number): string => `
import { appendFileSync as $append } from 'node:fs';
$reached(${moduleBlock});
var $seen: Uint8Array | undefined;
function $reached(block: number): void {
  const seen = ($seen ??= new Uint8Array(${count + 1}));
  if (seen[block + 1] === 1) return;
  try {
    $append(${JSON.stringify(log)}, ${JSON.stringify(`${path}\t`)} + block + '\\n');
    seen[block + 1] = 1;
  } catch {
    // A test may have used up the descriptors or the disk; the next time is as good.
  }
}
`;
