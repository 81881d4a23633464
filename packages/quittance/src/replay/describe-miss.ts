import type { JsonObject, JsonValue } from '../base/json.ts';
import { formatPath } from '../base/json.ts';
import { quote } from '../base/nearest.ts';
import { cutText } from '../base/cut-text.ts';
import type { RecordedCall } from './cassette.ts';
import type { JsonDifference } from './diff-json.ts';
import { RecordedError } from './recorded-error.ts';
import type { Miss, Recording, RecordingShelf, Wanted } from './recording-shelf.ts';

export type AboutMiss = {
  readonly expected?: Recording;
  readonly stopped?: RecordedCall;
  readonly schemas?: { readonly now: string };
};

const mostShown = 20;

/** The failure of a call without a recording: the request, the nearest recording and the differences. */
export function describeMiss(
  wanted: Wanted,
  why: Miss,
  shelf: RecordingShelf,
  { expected, stopped, schemas }: AboutMiss,
): RecordedError {
  const nearest = shelf.nearest(wanted);
  const difference = nearest?.difference ?? [];
  const extras: JsonObject = {
    why,
    ...(nearest !== undefined && {
      nearest: {
        call_id: nearest.recording.call.callId,
        input: shorten(nearest.recording.input),
        difference: difference.slice(0, mostShown).map(toWire),
      },
    }),
    ...(expected !== undefined && {
      expected: {
        call_id: expected.call.callId,
        tool: expected.call.toolName,
        input: shorten(expected.input),
      },
    }),
    ...(stopped !== undefined && {
      recorded_outcome: { call_id: stopped.callId, ...endOf(stopped) },
    }),
    ...(why === 'schema' && {
      schema_digest: { recorded: nearest?.recording.call.schemaDigest ?? null, now: schemas?.now ?? null },
    }),
    ...(why === 'tool' && { recorded_tools: toolsOf(shelf) }),
  };
  return new RecordedError(
    'tool.fixture_missing',
    sentence(wanted, why, shelf, { expected, stopped, difference, nearest: nearest?.recording }),
    {
      retryable: false,
      unsettled: false,
      extras,
    },
  );
}

function sentence(
  { toolName }: Wanted,
  why: Miss,
  shelf: RecordingShelf,
  {
    expected,
    stopped,
    difference,
    nearest,
  }: {
    readonly expected: Recording | undefined;
    readonly stopped: RecordedCall | undefined;
    readonly difference: readonly JsonDifference[];
    readonly nearest: Recording | undefined;
  },
): string {
  const tool = quote(toolName);
  switch (why) {
    case 'tool': {
      const known = toolsOf(shelf).map(quote).join(', ');
      return `The cassette has no call of ${tool}. Recorded tools: ${known === '' ? 'none' : known}.`;
    }
    case 'arguments': {
      const places = difference.slice(0, 3).map(inWords).join('; ');
      const more = difference.length > 3 ? `; and ${difference.length - 3} more` : '';
      const id = quote(nearest?.call.callId ?? '');
      return `The cassette has no call of ${tool} with these arguments. The nearest, call ${id}, differs at ${places}${more}.`;
    }
    case 'used_up':
      return `Every recorded call of ${tool} with these arguments has been played: this replay calls it more often.`;
    case 'order': {
      const next =
        expected === undefined
          ? 'none'
          : `${quote(expected.call.callId)} of ${quote(expected.call.toolName)}`;
      return `This call of ${tool} was recorded, but in another order: the next recorded call is ${next}.`;
    }
    case 'schema':
      return `The schemas of ${tool} have changed since it was recorded. Record again, or play the old recording with \`drift: 'allow'\`.`;
    case 'denied': {
      const end = stopped === undefined ? '' : ` (${Object.values(endOf(stopped)).join(', ')})`;
      return `This call of ${tool} never ran when it was recorded${end}, so there is no output to play.`;
    }
  }
}

const toolsOf = ({ recordings }: RecordingShelf): readonly string[] =>
  [...new Set(recordings.map(({ call }) => call.toolName))].toSorted().slice(0, mostShown);

function endOf({ outcome }: RecordedCall): { readonly [key: string]: string } {
  if (outcome.type === 'ToolDenied') return { reason: outcome.reason, code: outcome.code };
  return 'code' in outcome ? { code: outcome.code } : { type: outcome.type };
}

const inWords = ({ path, a: recorded, b: now }: JsonDifference): string =>
  `${formatPath(path)}: recorded ${recorded === undefined ? 'nothing' : inShort(recorded)}, got ${now === undefined ? 'nothing' : inShort(now)}`;

const inShort = (value: JsonValue): string => cutText(JSON.stringify(value), 80);

const toWire = ({ path, a: recorded, b: now }: JsonDifference): JsonObject => ({
  path: formatPath(path),
  ...(recorded !== undefined && { recorded: shorten(recorded) }),
  ...(now !== undefined && { now: shorten(now) }),
});

/** The value itself, or the start of its text. */
function shorten(value: JsonValue): JsonValue {
  const text = JSON.stringify(value);
  return text.length <= 2_000 ? value : cutText(text, 2_000);
}
