import {
  alsoWrites,
  hasDestructiveWord,
  isShellName,
  looksLikeRead,
  splitNameWords,
  withoutServer,
} from './name-words.ts';

/** How far the effects of a tool may reach. Decides how it is treated by default and whether it may be run again. */
export type ToolMode = 'read' | 'safe_write' | 'destructive' | 'local' | 'external';

/** Who said what a tool's mode is: its author, its name, or nobody. */
export type ToolModeOrigin = 'declared' | 'inferred' | 'default';

/** A mode, and how we came to know it. */
export type ToolClass = { readonly mode: ToolMode; readonly origin: ToolModeOrigin };

/** What each mode means and how a call in it is treated unless the host says otherwise. */
export const toolModeTreatments: {
  readonly [Mode in ToolMode]: { readonly meaning: string; readonly treatment: string };
} = Object.freeze({
  read: Object.freeze({ meaning: 'Pure inspection (no side effects)', treatment: 'Auto-run, no consent' }),
  safe_write: Object.freeze({
    meaning: 'Bounded mutation (e.g. update_event)',
    treatment: 'Auto-run with diff preview',
  }),
  destructive: Object.freeze({
    meaning: 'Irreversible (delete_, drop_, …)',
    treatment: 'Auto-run, undo affordance',
  }),
  local: Object.freeze({ meaning: "Touches the user's machine", treatment: 'Requires consent' }),
  external: Object.freeze({ meaning: 'Calls outside services', treatment: 'Auto-run, log' }),
});

/** What the beginning of a name says about the mode of a tool. The first row that matches decides. */
export const toolModePatterns: readonly { readonly pattern: RegExp; readonly mode: ToolMode }[] =
  Object.freeze([
    Object.freeze({ pattern: /^get[_-]/i, mode: 'read' }),
    Object.freeze({ pattern: /^list[_-]/i, mode: 'read' }),
    Object.freeze({ pattern: /^read[_-]/i, mode: 'read' }),
    Object.freeze({ pattern: /^search[_-]/i, mode: 'read' }),
    Object.freeze({ pattern: /^create[_-]/i, mode: 'safe_write' }),
    Object.freeze({ pattern: /^update[_-]/i, mode: 'safe_write' }),
    Object.freeze({ pattern: /^add[_-]/i, mode: 'safe_write' }),
    Object.freeze({ pattern: /^set[_-]/i, mode: 'safe_write' }),
    Object.freeze({ pattern: /^delete[_-]/i, mode: 'destructive' }),
    Object.freeze({ pattern: /^remove[_-]/i, mode: 'destructive' }),
    Object.freeze({ pattern: /^archive[_-]/i, mode: 'destructive' }),
    Object.freeze({ pattern: /^drop[_-]/i, mode: 'destructive' }),
    Object.freeze({ pattern: /^local[_-]/i, mode: 'local' }),
    Object.freeze({ pattern: /^shell[_-]/i, mode: 'local' }),
    Object.freeze({ pattern: /^exec[_-]/i, mode: 'local' }),
  ]);

/** Narrows a word to a mode. */
export const isToolMode = (value: unknown): value is ToolMode =>
  typeof value === 'string' && Object.hasOwn(toolModeTreatments, value);

/** The mode a tool's name suggests. A name that says nothing is `external`: unknown never means safe. */
export const decideToolMode = (name: string): ToolMode => classifyTool(name).mode;

/** The mode of a tool and its origin: what was declared wins, then the name, then `external` by default. */
export function classifyTool(name: string, declared?: ToolMode): ToolClass {
  if (declared !== undefined) return { mode: declared, origin: 'declared' };
  const mode = inferMode(name);
  return mode === undefined ? { mode: 'external', origin: 'default' } : { mode, origin: 'inferred' };
}

/**
 * Whether a tool reads for certain: its author says so, or its name stands in the table. Only such a tool runs without
 * an intent on disk and runs again after a crash. The other read words merely say that nothing is repeated by accident.
 */
export function surelyReads(tool: {
  readonly name: string;
  readonly mode: ToolMode;
  readonly modeOrigin: ToolModeOrigin;
}): boolean {
  if (tool.mode !== 'read') return false;
  return tool.modeOrigin !== 'inferred' || modeByTable(tool.name) === 'read';
}

function inferMode(name: string): ToolMode | undefined {
  const own = splitNameWords(withoutServer(name));
  const byTable = modeByTable(name);
  if (byTable === 'local' || isShellName(own)) return 'local';
  if (hasDestructiveWord(splitNameWords(name), own)) return 'destructive';
  if (byTable === 'read' && alsoWrites(own)) return 'safe_write';
  return byTable ?? (isPlain.test(name) && looksLikeRead(own) ? 'read' : undefined);
}

/** Letters that only look like others make no name safe. */
const isPlain = /^[\w.:/-]+$/;

/** The table speaks of names in snake_case: others are written so first. */
function modeByTable(name: string): ToolMode | undefined {
  const spelled = isPlain.test(name) ? splitNameWords(withoutServer(name)).join('_') : name;
  return toolModePatterns.find(({ pattern }) => pattern.test(spelled))?.mode;
}
