import { checkObject } from '../base/check-keys.ts';
import { QuittanceError } from '../base/error.ts';
import type { Awaitable, JsonObject } from '../base/json.ts';
import type { AnyTool, Tool, ToolInput, ToolOutput } from './define-tool.ts';
import { buildTool, isTool } from './define-tool.ts';
import { describeValue } from './describe-value.ts';
import type { AnyFunction, BodyOf, SchemaOf, ToolObject } from './existing-tool.ts';
import { readExistingTool } from './existing-tool.ts';
import { describeUnknownName, quote } from '../base/nearest.ts';
import { ownValue } from '../base/json.ts';
import type { InferInput, InferOutput, InputSchema } from './schema.ts';
import type { StandardSchema } from './standard-schema.ts';
import { checkToolFields, knownFields } from './tool-fields.ts';
import type { ToolTraits } from './tool-spec.ts';

type Governable = AnyFunction | ToolObject | AnyTool;
type NamedGovernable = (ToolObject | AnyTool) & { readonly name: string };

/** The type of the first parameter; any object if it has none. */
type FirstParameter<Body> = Body extends (...args: infer Args) => unknown
  ? Args extends readonly []
    ? JsonObject
    : unknown extends Args[0]
      ? JsonObject
      : NonNullable<Args[0]>
  : JsonObject;

/** The input that a caller passes: by the schema if it carries a type, else by the body. */
type GovernedInput<Given> = Given extends AnyTool
  ? ToolInput<Given>
  : InferInput<SchemaOf<Given>, FirstParameter<BodyOf<Given>>>;

/** The input of the body. */
type GovernedArgs<Given> = Given extends AnyTool
  ? unknown
  : InferOutput<SchemaOf<Given>, FirstParameter<BodyOf<Given>>>;

type GovernedOutput<Given> = Given extends AnyTool
  ? ToolOutput<Given>
  : Given extends { readonly outputSchema: infer Schema extends StandardSchema }
    ? InferOutput<Schema>
    : BodyOf<Given> extends (...args: never) => infer Result
      ? Awaited<Result>
      : unknown;

type GovernedTool<Name extends string, Given> = Tool<Name, GovernedInput<Given>, GovernedOutput<Given>>;

/** The settings of a tool from outside: every field of a definition except its name and its body. */
export type ToolOverrides<Args = unknown> = ToolTraits<Args> & {
  readonly input?: InputSchema | undefined;
  readonly output?: InputSchema | undefined;
};

/** The tools that `govern` makes of a record: one for every key, under that name. */
export type GovernedRecord<Existing> = readonly {
  [Name in keyof Existing & string]: GovernedTool<Name, Existing[Name]>;
}[keyof Existing & string][];

/** The tools that `govern` makes of a list: one for every item, under its name. */
export type GovernedList<Existing extends readonly NamedGovernable[]> = {
  readonly [Index in keyof Existing]: GovernedTool<Existing[Index]['name'], Existing[Index]>;
};

/**
 * Makes tools of existing ones: a record of functions that take one object, a record of tool objects, or a list of
 * named tool objects. `overrides` sets what they do not say, such as a mode, by name. A body gets our context as its
 * second argument, and is called on its own object.
 */
export function govern<const Existing extends readonly NamedGovernable[]>(
  existing: Existing,
  overrides?: {
    readonly [Given in Existing[number] as Given['name']]?: ToolOverrides<GovernedArgs<Given>> | undefined;
  },
): GovernedList<Existing>;
export function govern<Existing extends Readonly<Record<string, Governable>>>(
  existing: Existing,
  overrides?: {
    readonly [Name in keyof Existing]?: ToolOverrides<GovernedArgs<Existing[Name]>> | undefined;
  },
): GovernedRecord<Existing>;
export function govern(existing: unknown, overrides: object = {}): readonly AnyTool[] {
  checkObject('The second argument of govern', overrides);
  const entries = listEntries(existing);
  const names = new Set(entries.map(([name]) => name));
  if (names.size < entries.length)
    throw refuse('Two of the tools have the same name. Give each its own name.');
  for (const name of Object.keys(overrides)) {
    if (!names.has(name))
      throw refuse(`The overrides are invalid. ${describeUnknownName('tool', name, [...names])}`);
  }
  return Object.freeze(
    entries.map(([name, given]) => adopt(name, given, ownValue(overrides, name), existing)),
  );
}

/** The names and the tools, from a list or a record. */
function listEntries(existing: unknown): readonly (readonly [string, unknown])[] {
  if (Array.isArray(existing)) {
    return existing.map((given: unknown, index) => {
      const name = typeof given === 'object' && given !== null && 'name' in given ? given.name : undefined;
      if (typeof name === 'string') return [name, given];
      throw refuse(`The tool at index ${index} of the list has no name. Expected an object with a name.`);
    });
  }
  if (typeof existing === 'object' && existing !== null) return Object.entries(existing);
  throw refuse(`govern was given ${describeValue(existing)}. Expected a record or a list of tools.`);
}

function adopt(name: string, given: unknown, overrides: unknown = {}, self: unknown): AnyTool {
  if (typeof overrides !== 'object' || overrides === null) {
    throw refuse(
      `The overrides of the tool ${quote(name)} are ${describeValue(overrides)}. Expected an object.`,
    );
  }
  checkToolFields(overrides, name, overridable);
  if (isTool(given)) return adoptOwn(name, given, overrides);
  const { description, input, output, wantsApproval, run } = readExistingTool(name, given, self);
  const said = overrides as ToolOverrides; // every field was just checked
  if (wantsApproval && said.mode === undefined) {
    throw refuse(
      `The tool ${quote(name)} requires approval. Set a mode that requires approval in the overrides, ` +
        `such as { ${JSON.stringify(name)}: { mode: 'destructive' } }, or set its real mode.`,
    );
  }
  return buildTool({
    description,
    input,
    output,
    ...Object.fromEntries(Object.entries(said).filter(([, value]) => value !== undefined)),
    name,
    run: (args, context) => run(args, context) as Awaitable<unknown>,
  });
}

/** One of our own tools is used as it is: its author has set everything. */
function adoptOwn(name: string, tool: AnyTool, overrides: object): AnyTool {
  if (tool.name !== name) {
    throw refuse(`The tool under ${quote(name)} is named ${quote(tool.name)}. Use its own name as the key.`);
  }
  if (Object.keys(overrides).length > 0) {
    throw refuse(
      `The tool ${quote(name)} was made by defineTool. Change its definition instead of overriding it.`,
    );
  }
  return tool;
}

const overridable = knownFields.filter((field) => field !== 'name' && field !== 'run' && field !== 'handoff');

const refuse = (message: string): QuittanceError => new QuittanceError('config.invalid', message);
