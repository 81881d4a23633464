/**
 * Redacts the side output of a body and applies the rules on results to it: log lines, targets, files. Rules redact
 * and block here as they do in the result. Warnings and marks are recorded with the result only.
 */
import type { Awaitable, JsonObject, JsonValue } from '../../base/json.ts';
import { isJsonObject } from '../../base/json.ts';
import type { LogLine } from '../../call/event.ts';
import { cutText } from '../../base/cut-text.ts';
import { whenReady } from '../../base/when-ready.ts';
import { cleanObject } from '../input/clean.ts';
import type { BodyContext, NamedAttachment } from './body-context.ts';
import { longestLine } from './body-context.ts';
import type { ReadyCall } from '../state/call-stages.ts';
import { toPolicyCall } from '../rules/contract-rules.ts';
import { withheld } from './rule-output.ts';

/** The value after redaction, or a placeholder if a rule blocks it. */
export function redactSideOutput(live: ReadyCall, value: JsonValue): Awaitable<JsonValue> {
  const { policy } = live;
  if (policy === undefined) return value;
  return whenReady(policy.judgeOutput(toPolicyCall(live), { type: 'result', value }), (ruling) =>
    ruling.decision === 'block' ? withheld : ruling.output,
  );
}

/** What a body logged and reached, as it may be stored. All lines are cleaned at once: a key may span several. */
export async function keepSideOutput(
  live: ReadyCall,
  { lines, targets }: BodyContext,
): Promise<{ readonly log: readonly LogLine[]; readonly reached: readonly string[] }> {
  const clean = cleanObject(live, { lines, targets }) as { lines: LogLine[]; targets: string[] }; // hides texts only
  return { log: await ruleLines(live, clean.lines), reached: await ruleTargets(live, clean.targets) };
}

async function ruleLines(live: ReadyCall, lines: readonly LogLine[]): Promise<readonly LogLine[]> {
  const ruled: LogLine[] = [];
  for (const { at, message, fields } of lines) {
    const line: JsonObject = fields === undefined ? { message } : { message, fields };
    const left = await redactSideOutput(live, line);
    ruled.push(toLine(at, left));
  }
  return ruled;
}

/** A rule may replace the whole line by one word. */
function toLine(at: number, left: JsonValue): LogLine {
  if (!isJsonObject(left)) return { at, message: toShortText(left) };
  const { message = null, fields } = left;
  return { at, message: toShortText(message), ...(isJsonObject(fields) && { fields }) };
}

const toText = (value: JsonValue): string => (typeof value === 'string' ? value : JSON.stringify(value));
const toShortText = (value: JsonValue): string => cutText(toText(value), longestLine);

async function ruleTargets(live: ReadyCall, targets: readonly string[]): Promise<readonly string[]> {
  const ruled: string[] = [];
  for (const target of targets) ruled.push(toShortText(await redactSideOutput(live, target)));
  return ruled;
}

/** Rules read text files and file names like results. They cannot read binary files. */
export async function ruleFile(live: ReadyCall, file: NamedAttachment): Promise<NamedAttachment> {
  const text = typeof file.content === 'string' ? file.content : readText(file);
  const content = text === undefined ? undefined : toText(await redactSideOutput(live, text));
  const name = file.name === undefined ? undefined : toShortText(await redactSideOutput(live, file.name));
  return {
    ...file,
    ...(content !== undefined && content !== text && { content }),
    ...(name !== undefined && { name }),
  };
}

const textTypes = /^(?:text\/|application\/(?:[\w.+-]*[+/-])?(?:json|xml|yaml|javascript)\b)/i;

function readText({ mimeType, content }: NamedAttachment): string | undefined {
  if (typeof content === 'string' || !textTypes.test(mimeType)) return undefined;
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(content);
  } catch {
    return undefined;
  }
}
