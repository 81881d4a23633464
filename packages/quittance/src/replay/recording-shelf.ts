/** The recordings of a cassette, in order, and which of them have been played. */
import { digestJson } from '../base/canonical.ts';
import type { JsonValue } from '../base/json.ts';
import type { JsonDifference } from './diff-json.ts';
import { diffJson } from './diff-json.ts';
import type { RecordedCall } from './cassette.ts';
import type { PlayedRun } from './play-back.ts';

/** A call whose tool ran, and the input that identifies it. */
export type Recording = {
  readonly call: RecordedCall;
  readonly input: JsonValue;
  readonly key: string;
  status: 'waiting' | 'played' | 'passed_over';
};

export type Wanted = {
  readonly toolName: string;
  readonly input: JsonValue;
  /** Digest of the tool's current schemas; left out if any will do. */
  readonly schemaDigest?: string | undefined;
  /** The digest as recordings of earlier versions have it. */
  readonly schemaDigestWithDefaults?: string | undefined;
};

export type RecordingMatch =
  | { readonly type: 'found'; readonly recording: Recording }
  | {
      readonly type: 'missed';
      readonly why: Exclude<Miss, 'denied'>;
      readonly expected?: Recording;
    };

/** Why nothing was played. */
export type Miss =
  /** The tool was never recorded. */
  | 'tool'
  /** It was recorded with other arguments. */
  | 'arguments'
  /** It was recorded with these arguments, and every such recording has been played. */
  | 'used_up'
  /** It was recorded, but another call comes next. */
  | 'order'
  /** Its schemas have changed since. */
  | 'schema'
  /** The call was recorded, but its tool never ran. */
  | 'denied';

export type Nearest = { readonly recording: Recording; readonly difference: readonly JsonDifference[] };

export const recordingKey = ({ toolName, input }: Pick<Wanted, 'toolName' | 'input'>): string =>
  `${JSON.stringify(toolName)} ${digestJson(input)}`;

export class RecordingShelf {
  readonly recordings: readonly Recording[];
  /** For each key, waiting recordings first; played ones are removed when they reach the front. */
  readonly #byKey: Map<string, Queue> = new Map();
  #from = 0;

  constructor(recordings: readonly Omit<Recording, 'status' | 'key'>[]) {
    this.recordings = recordings.map(({ call, input }) => ({
      call,
      input,
      key: recordingKey({ toolName: call.toolName, input }),
      status: 'waiting',
    }));
    for (const recording of this.recordings) {
      const same = this.#byKey.get(recording.key);
      if (same === undefined) this.#byKey.set(recording.key, { recordings: [recording], from: 0 });
      else same.recordings.push(recording);
    }
  }

  /** The first that has not been played. */
  get next(): Recording | undefined {
    // A played recording stays played, so it is never scanned again.
    while (this.recordings[this.#from] !== undefined && this.recordings[this.#from]?.status !== 'waiting')
      this.#from++;
    return this.recordings[this.#from];
  }

  /** The next recording with this key, at any place. */
  takeByKey(wanted: Wanted): RecordingMatch {
    const same = this.#waitingOf(recordingKey(wanted));
    const recording = find(same, (each) => each.status === 'waiting' && fits(each, wanted));
    if (recording !== undefined) return play(recording);
    return { type: 'missed', why: this.#why(wanted, same) };
  }

  /**
   * The next recording, which must have this key. A call of the expected tool takes its place, so that one changed
   * argument is one miss and not many.
   */
  takeInOrder(wanted: Wanted): RecordingMatch {
    const expected = this.next;
    const key = recordingKey(wanted);
    if (expected?.key === key && fits(expected, wanted)) return play(expected);
    const same = this.#waitingOf(key);
    const isWaiting = find(same, (each) => each.status === 'waiting' && fits(each, wanted)) !== undefined;
    if (expected?.call.toolName === wanted.toolName) expected.status = 'passed_over';
    const why = isWaiting ? 'order' : this.#why(wanted, same);
    return { type: 'missed', why, ...(expected !== undefined && { expected }) };
  }

  #waitingOf(key: string): Queue | undefined {
    const queue = this.#byKey.get(key);
    if (queue !== undefined)
      while (queue.from < queue.recordings.length && queue.recordings[queue.from]?.status !== 'waiting')
        queue.from++;
    return queue;
  }

  #why(wanted: Wanted, same: Queue | undefined): 'tool' | 'arguments' | 'used_up' | 'schema' {
    if (find(same, (each) => each.status === 'waiting') !== undefined) return 'schema';
    const ofTool = this.recordings.filter(({ call }) => call.toolName === wanted.toolName);
    if (ofTool.length > 0 && !ofTool.some((each) => fits(each, wanted))) return 'schema';
    if (same !== undefined) return 'used_up';
    return ofTool.length > 0 ? 'arguments' : 'tool';
  }

  /** The recording of the tool with the most similar input; a waiting one, if there is any. */
  nearest({ toolName, input }: Wanted): Nearest | undefined {
    let found: Nearest | undefined;
    const weigh = ({ recording, difference }: Nearest): number =>
      difference.length + (recording.status === 'played' ? 1_000 : 0);
    for (const recording of this.recordings) {
      if (recording.call.toolName !== toolName) continue;
      const candidate = { recording, difference: diffJson(recording.input, input) };
      if (found === undefined || weigh(candidate) < weigh(found)) found = candidate;
    }
    return found;
  }
}

type Queue = { readonly recordings: Recording[]; from: number };

function find(queue: Queue | undefined, isMeant: (recording: Recording) => boolean): Recording | undefined {
  if (queue === undefined) return undefined;
  for (let at = queue.from; at < queue.recordings.length; at++) {
    const recording = queue.recordings[at];
    if (recording !== undefined && isMeant(recording)) return recording;
  }
  return undefined;
}

/** Was it recorded with the current schemas, as far as is known? */
const fits = (
  { call: { schemaDigest: recorded } }: Recording,
  { schemaDigest, schemaDigestWithDefaults }: Wanted,
): boolean =>
  schemaDigest === undefined ||
  recorded === undefined ||
  recorded === schemaDigest ||
  recorded === schemaDigestWithDefaults;

function play(recording: Recording): RecordingMatch {
  recording.status = 'played';
  return { type: 'found', recording };
}

/** A recording that a call plays, and how many of its runs were played. */
export type Playing = { readonly recording: Recording; played: number };

/** An additional attempt ends as the last recorded one did. */
export function nextRun(playing: Playing): PlayedRun {
  const { runs, policyVersion } = playing.recording.call;
  const run = runs[Math.min(playing.played++, runs.length - 1)];
  if (run === undefined) throw new TypeError('A recording without a run is on the shelf.');
  return { run, policyVersion };
}
