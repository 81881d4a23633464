/** The arguments of a call on one line: `order: A-1001, cents: 1200`. */
import type { JsonValue } from '../base/json.ts';
import { visibleValue } from '../base/safe-text.ts';
import type { CallSummary } from '../ledger/call-query.ts';

const mostChars = 160;

export function summarizeArguments(args: CallSummary['args']): string {
  if (args === undefined) return '';
  let text = '';
  for (const [path, value] of Object.entries(args)) {
    if (text.length > mostChars) return `${text}, …`;
    text += `${text === '' ? '' : ', '}${path === '' ? '' : `${visibleValue(path)}: `}${wordsOf(value)}`;
  }
  return text;
}

const wordsOf = (value: JsonValue): string =>
  Array.isArray(value)
    ? value.map((item: JsonValue) => wordsOf(item)).join(' ')
    : typeof value === 'string'
      ? visibleValue(value)
      : JSON.stringify(value);
