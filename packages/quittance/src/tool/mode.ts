import {
  alsoWrites,
  hasDestructiveWord,
  isShellName,
  looksLikeRead,
  riskOfWords,
  splitNameWords,
  withoutServer,
} from './name-words.ts';
import type { ToolRisk } from './name-words.ts';

/** How far the effects of a tool may reach. Decides its default treatment and whether it may be rerun. */
export type ToolMode = 'read' | 'safe_write' | 'destructive' | 'local' | 'external';

/** The origin of a tool's mode: its author, its name, or the default. */
export type ToolModeOrigin = 'declared' | 'inferred' | 'default';

/** A mode and its origin. */
export type ToolClass = { readonly mode: ToolMode; readonly origin: ToolModeOrigin };

/** The meaning of each mode, and its treatment in the words of the source document. */
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

/** How a call is treated: it runs, a person is asked first, or only if the tool cannot undo it. */
export type Treatment = 'run' | 'ask' | 'ask_unless_undo';

/**
 * What the runtime does by default with calls of each mode, and with calls of a tool that has a risk. The only place
 * that says so. It differs from the table above: see docs/deviations.md.
 */
export const defaultTreatments: { readonly [Of in ToolMode | 'risk']: Treatment } = Object.freeze({
  read: 'run',
  safe_write: 'run',
  destructive: 'ask_unless_undo',
  local: 'ask',
  external: 'run',
  risk: 'run',
});

/** The mode suggested by the beginning of a name. The first matching row decides. */
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

/** What a mistake with a tool of this name could cost. Undefined for most names. */
export const riskOfTool = (name: string, mode: ToolMode = classifyTool(name).mode): ToolRisk | undefined =>
  mode === 'read' ? undefined : riskOfWords(splitNameWords(withoutServer(name)));

/** Narrows a string to a mode. */
export const isToolMode = (value: unknown): value is ToolMode =>
  typeof value === 'string' && Object.hasOwn(toolModeTreatments, value);

/** The mode that a tool's name suggests. A name that says nothing is `external`: unknown never means safe. */
export const decideToolMode = (name: string): ToolMode => classifyTool(name).mode;

/** The mode of a tool and its origin: the declaration wins, then the name, then `external` by default. */
export function classifyTool(name: string, declared?: ToolMode): ToolClass {
  if (declared !== undefined) return { mode: declared, origin: 'declared' };
  const mode = inferMode(name);
  return mode === undefined ? { mode: 'external', origin: 'default' } : { mode, origin: 'inferred' };
}

/**
 * Is a tool certain to read only? True if its author declares it, or its name is in the table. Only such a tool runs
 * without an intent on disk and is rerun after a crash. The other read words only prevent accidental repeats.
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

/** Look-alike letters make no name safe. */
const isPlain = /^[\w.:/-]+$/;

/** The table has names in snake_case, so other spellings are converted first. */
function modeByTable(name: string): ToolMode | undefined {
  const spelled = isPlain.test(name) ? splitNameWords(withoutServer(name)).join('_') : name;
  return toolModePatterns.find(({ pattern }) => pattern.test(spelled))?.mode;
}
