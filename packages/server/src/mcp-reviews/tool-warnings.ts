/**
 * Properties of a listed tool that a person should notice. The model reads every text of a tool. A hostile server
 * writes instructions there (tool poisoning), hides them, or takes the name of another server's tool (shadowing).
 * Warnings are help for a reader. No decision depends on them.
 */
import { safeLines } from 'quittance/internal/base/safe-text';
import type { ListedTool } from './listed-tool.ts';

const instructions =
  /<[\s/]{0,9}(?:important|system|secret|instructions?|hidden)\b|\b(?:ignore|disregard|forget)\b.{0,40}\b(?:previous|prior|above|other|earlier|all)\b|\b(?:do not|don't|never|without)\s+(?:tell|mention|inform|show|reveal|notify|asking|telling)|\b(?:before|after|instead of|whenever)\b.{0,30}\b(?:using|calling|use|call|running)\b.{0,30}\b(?:this|any|other|another)\b.{0,20}\btools?\b|\byou (?:must|should|have to|need to) (?:always|first|also|never|read|call|send|pass|include)\b|\bsystem prompt\b/is;
const places =
  /(?:~|\/home\/|\/root|\/Users\/|\$HOME)[\w./-]{0,200}\.(?:ssh|aws|gnupg|env|netrc|npmrc|cursor|claude|codex)\b|\bid_(?:rsa|ed25519)\b|\bmcp\.json\b|\/etc\/(?:passwd|shadow)\b/i;
const longText = 4_000;

export type ToolWarning =
  | 'invisible'
  | 'instructions'
  | 'secret_files'
  | 'long'
  | 'shadows'
  | 'names_other_tool';

export const toolWarningTexts: Readonly<Record<ToolWarning, string>> = {
  invisible: 'Its texts have invisible or misleading characters.',
  instructions: 'Its texts give the model instructions.',
  secret_files: 'Its texts name files that hold secrets.',
  long: 'Its texts are unusually long.',
  shadows: 'Another server has a tool of this name.',
  names_other_tool: 'Its texts name a tool of another server.',
};

/** `others`: names of the tools of all other servers. */
export function findToolWarnings(tool: ListedTool, others: ReadonlySet<string>): readonly ToolWarning[] {
  const texts = [...textsIn(tool)];
  const joined = texts.join('\n');
  const words = new Set(joined.match(/[\w.-]{4,}/g));
  const found: Readonly<Record<ToolWarning, boolean>> = {
    invisible: texts.some(
      (text) => safeLines(text).join('\n') !== text.replaceAll('\r\n', '\n').replaceAll('\t', '  '),
    ),
    instructions: instructions.test(joined.slice(0, 50_000)),
    secret_files: places.test(joined.slice(0, 50_000)),
    long: joined.length > longText,
    shadows: others.has(tool.name),
    // A plain word such as "search" is not a name.
    names_other_tool: [...others].some(
      (name) => name !== tool.name && /[_.-]|[a-z][A-Z]/.test(name) && words.has(name),
    ),
  };
  return (Object.keys(found) as ToolWarning[]).filter((warning) => found[warning]);
}

/** Every text that the model may read: names and descriptions at any depth of the schemas too. */
function* textsIn(value: unknown): Generator<string, void> {
  const open: unknown[] = [value];
  for (let at = open.pop(); at !== undefined || open.length > 0; at = open.pop()) {
    if (typeof at === 'string') yield at;
    else if (typeof at === 'object' && at !== null)
      for (const [key, part] of Object.entries(at)) {
        if (!Array.isArray(at)) yield key;
        open.push(part);
      }
  }
}
