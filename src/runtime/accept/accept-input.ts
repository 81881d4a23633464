/**
 * Passes arguments through the schema of a tool. Everything after it uses the schema's result: gates, people,
 * the record and the body.
 */
import type { JsonObject } from '../../base/json.ts';
import type { KnownSecrets } from '../../base/known-secrets.ts';
import { createKnownSecrets, shortestEchoed } from '../../base/known-secrets.ts';
import type { ArtifactArgument, InputChange } from '../../call/event.ts';
import { coerce } from '../../tool/coerce.ts';
import { cutText } from '../../base/cut-text.ts';
import type { AnyTool } from '../../tool/define-tool.ts';
import type { SchemaCheck, SchemaIssue } from '../../tool/schema.ts';
import type { FoundArtifact, Unfilled } from '../input/fill-artifacts.ts';
import { fillArtifacts, nameArtifacts } from '../input/fill-artifacts.ts';
import type { Engine } from '../state/engine.ts';
import { copyOf } from '../input/input-for-tool.ts';
import { inputDigestOf } from '../input/input-digest.ts';
import type { KeptInput } from '../input/kept-input.ts';
import { keepInput } from '../input/kept-input.ts';
import type { PreparedInput } from '../input/prepared-input.ts';
import type { AcceptedArguments } from '../input/read-output.ts';
import { readOutput } from '../input/read-output.ts';
import { timedSchema } from './timed-schema.ts';

/** The tool and the session that the arguments belong to. */
export type InputContext = {
  readonly engine: Engine;
  readonly tool: AnyTool;
  readonly sessionId: string;
  /** Paths to hide in addition to those the tool names. */
  readonly hide?: readonly string[];
  /** Secrets known from other sources. */
  readonly known?: readonly string[];
};

/** The requested arguments: exact, and in their stored form. */
export type RequestedInput = { readonly input: JsonObject; readonly kept: KeptInput };

export type Acceptance =
  | { readonly ok: true; readonly prepared: PreparedInput }
  | {
      readonly ok: false;
      readonly issues: readonly SchemaIssue[];
      /** Why a named artifact cannot be filled in. A repair cannot help with this. */
      readonly unfilled?: Unfilled['why'];
    };

/** `mend`: coerce arguments that do not match, by the listed rules? */
export async function acceptInput(
  place: InputContext,
  requested: RequestedInput,
  input: JsonObject,
  mend: boolean,
): Promise<Acceptance> {
  const { engine, tool, sessionId } = place;
  const filled = await fillArtifacts(input, { ledger: engine.ledger, sessionId });
  if (!filled.ok)
    return {
      ok: false,
      issues: [{ path: filled.path, message: filled.problem }],
      unfilled: filled.why,
    };
  const { value: checked, artifacts } = filled;
  const schema = timedSchema(engine, tool.input);
  const result: SchemaCheck = await schema.check(copyOf(checked));
  if (result.ok)
    return prepare(place, requested, { accepted: input, checked, output: result.value, artifacts }, []);
  if (!mend || !(tool.coerce ?? engine.coerce)) return result;
  const coerced = await coerce(checked, schema, { frozenPaths: artifacts.map(({ path }) => path) });
  if (!coerced.ok) return coerced;
  // Coercion leaves filled-in artifacts alone, so naming them again gives the stored form of the input.
  const accepted = nameArtifacts(coerced.input, artifacts).named;
  return prepare(
    place,
    requested,
    { accepted, checked: coerced.input, output: coerced.value, artifacts },
    coerced.changes,
  );
}

/** Prepares the input that a schema accepted. */
export function prepare(
  place: InputContext,
  requested: RequestedInput,
  given: AcceptedArguments,
  changes: readonly InputChange[],
): Acceptance {
  const { engine, tool } = place;
  const read = readOutput(tool.input, given);
  if (!read.ok)
    return {
      ok: false,
      issues: [{ path: read.path, message: `the schema's output cannot be stored: ${read.problem}` }],
    };
  const { form, effectiveInput, value, rendering, inPlace } = read;
  const { accepted, checked, artifacts } = given;
  if (form === 'json' && effectiveInput === requested.input) {
    const { kept: effective } = requested;
    return {
      ok: true,
      prepared: {
        effective,
        effectiveInput,
        form,
        accepted,
        acceptedKept: undefined,
        checked,
        value,
        rendering,
        artifacts: none,
        changes,
      },
    };
  }
  const declared = tool.redact?.input;
  const paths = place.hide === undefined ? declared : [...(declared ?? []), ...place.hide];
  const known = [...requested.kept.secrets, ...(place.known ?? none)];
  const keep = (input: JsonObject): KeptInput => keepInput(input, paths, engine.redactor, engine.seal, known);
  const keptAccepted = accepted === requested.input ? requested.kept : keep(accepted);
  const keptOutput = accepted === effectiveInput ? keptAccepted : keep(effectiveInput);
  // A schema may move a hidden value to another path, where only the value identifies it.
  const secrets = createKnownSecrets([...known, ...keptAccepted.secrets], shortestEchoed);
  const moved: string[] = [];
  const kept = secrets.json(keptOutput.kept, moved);
  const hidden = [...keptOutput.hidden, ...(form === 'typed' ? keptAccepted.hidden : none), ...moved];
  const recorded = { form, effectiveInput, accepted, artifacts };
  const digest = inputDigestOf(recorded, hidden.length === 0 ? undefined : engine.seal.digestKey);
  const isNew = accepted !== requested.input && accepted !== effectiveInput;
  return {
    ok: true,
    prepared: {
      effective: {
        kept,
        hidden: [...new Set(hidden)],
        repeated: [...new Set([...keptOutput.repeated, ...moved])],
        digest,
        secrets: [...keptAccepted.secrets, ...keptOutput.secrets],
      },
      effectiveInput,
      form,
      accepted,
      acceptedKept: isNew ? (keptAccepted.kept as JsonObject) : undefined, // redacting an object gives an object
      checked,
      value,
      rendering,
      artifacts: artifacts.map((artifact, index) =>
        toArgument(engine, artifact, inPlace[index] ?? false, secrets),
      ),
      changes,
    },
  };
}

const none: readonly never[] = Object.freeze([]);

const longestPreview = 1_000;
const longestLook = 16_000;

/** Redacts more text than is shown, so that a secret cut in half is not missed. */
function toArgument(
  { redactor }: Engine,
  { path, artifactId, digest, sizeBytes, mimeType, text }: FoundArtifact,
  inPlace: boolean,
  secrets: KnownSecrets,
): ArtifactArgument {
  const clean = secrets.text(redactor.text(text.slice(0, longestLook)));
  const isWhole = text.length <= longestLook && clean.length <= longestPreview;
  const preview = isWhole
    ? clean
    : `${cutText(clean, longestPreview)}\n[the beginning of ${text.length} characters]`;
  return { path, artifactId, digest, sizeBytes, mimeType, preview, inPlace };
}
