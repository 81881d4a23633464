/** The event types as TypeScript declares them, read with its own eyes: a JSON Schema, and words for each field. */
import { join } from 'node:path';
import ts from 'typescript';

export type JsonSchema = { readonly [name: string]: unknown };

export type DescribedEvent = {
  readonly type: string;
  /** The name of the declaration in TypeScript. */
  readonly name: string;
  readonly about: string;
  readonly fields: readonly DescribedField[];
  readonly schema: JsonSchema;
};
export type DescribedField = {
  readonly name: string;
  readonly type: string;
  readonly optional: boolean;
  readonly about: string;
};

const envelope = ['id', 'type', 'sessionId', 'turnId', 'callId', 'at', 'cause'];

/** Declarations that stand for any JSON there is. */
const anyJson: { readonly [name: string]: JsonSchema } = { JsonValue: {}, JsonObject: { type: 'object' } };

export function readEventTypes(): {
  readonly events: readonly DescribedEvent[];
  readonly emitted: DescribedEvent;
  readonly definitions: JsonSchema;
} {
  const file = join(import.meta.dirname, '../src/call/event.ts');
  const emittedFile = join(import.meta.dirname, '../src/call/emitted-event.ts');
  const program = ts.createProgram([file, emittedFile], {
    strict: true,
    exactOptionalPropertyTypes: true,
    target: ts.ScriptTarget.ES2023,
    module: ts.ModuleKind.NodeNext,
    moduleResolution: ts.ModuleResolutionKind.NodeNext,
    allowImportingTsExtensions: true,
    noEmit: true,
    types: ['node'],
  });
  const reader = new Reader(program.getTypeChecker());
  const events = reader.members(program, file, 'QuittanceEvent');
  const [emitted] = reader.members(program, emittedFile, 'EmittedEvent');
  if (emitted === undefined) throw new Error('EmittedEvent is not declared.');
  return { events, emitted, definitions: reader.definitions };
}

class Reader {
  readonly definitions: { [name: string]: JsonSchema } = {};
  readonly #checker: ts.TypeChecker;

  constructor(checker: ts.TypeChecker) {
    this.#checker = checker;
  }

  members(program: ts.Program, file: string, name: string): DescribedEvent[] {
    const source = program.getSourceFile(file);
    const symbol = source && this.#checker.getSymbolAtLocation(source);
    const alias = symbol && this.#checker.getExportsOfModule(symbol).find((one) => one.name === name);
    if (alias === undefined) throw new Error(`${name} is not exported by ${file}.`);
    const type = this.#checker.getDeclaredTypeOfSymbol(alias);
    return (type.isUnion() ? type.types : [type]).map((member) => this.#event(member));
  }

  #event(member: ts.Type): DescribedEvent {
    const properties = member.getProperties();
    const typeOfType = this.#typeOf(properties.find(({ name }) => name === 'type'));
    const fields = properties
      .filter(({ name }) => !envelope.includes(name))
      .map((property): DescribedField => {
        const type = this.#typeOf(property);
        return {
          name: property.name,
          type: this.#words(type),
          optional: this.#isOptional(property, type),
          about: textOf(property.getDocumentationComment(this.#checker)),
        };
      });
    return {
      type: typeOfType?.isStringLiteral() === true ? typeOfType.value : 'your.own',
      name: member.aliasSymbol?.name ?? '',
      about: textOf(member.aliasSymbol?.getDocumentationComment(this.#checker) ?? []),
      fields,
      schema: this.#object(properties),
    };
  }

  #typeOf(property: ts.Symbol | undefined): ts.Type {
    if (property === undefined) throw new Error('A property is missing.');
    return this.#checker.getTypeOfSymbol(property);
  }

  #isOptional(property: ts.Symbol, type: ts.Type): boolean {
    return (
      (property.flags & ts.SymbolFlags.Optional) !== 0 ||
      withoutUndefined(type).length !== partsOf(type).length
    );
  }

  #words(type: ts.Type): string {
    return withoutUndefined(type).length === 0
      ? 'undefined'
      : this.#checker
          .typeToString(
            type,
            undefined,
            ts.TypeFormatFlags.NoTruncation | ts.TypeFormatFlags.UseSingleQuotesForStringLiteralType,
          )
          .replaceAll(/ \| undefined$/g, '')
          .replaceAll('readonly ', '');
  }

  #object(properties: readonly ts.Symbol[]): JsonSchema {
    const entries = properties.map((property) => {
      const about = textOf(property.getDocumentationComment(this.#checker));
      const schema = this.schemaOf(this.#typeOf(property));
      return [property.name, about === '' ? schema : { ...schema, description: about }] as const;
    });
    const required = properties
      .filter((property) => !this.#isOptional(property, this.#typeOf(property)))
      .map(({ name }) => name);
    return {
      type: 'object',
      properties: Object.fromEntries(entries),
      ...(required.length > 0 && { required }),
    };
  }

  schemaOf(type: ts.Type): JsonSchema {
    const name = type.aliasSymbol?.name;
    if (name !== undefined && Object.hasOwn(anyJson, name)) return anyJson[name] ?? {};
    const parts = withoutUndefined(type);
    if (name !== undefined && parts.length === partsOf(type).length && isNamed(type)) {
      if (!Object.hasOwn(this.definitions, name)) {
        this.definitions[name] = {}; // for what refers to itself
        this.definitions[name] = this.#parts(parts);
      }
      return { $ref: `#/$defs/${name}` };
    }
    return this.#parts(parts);
  }

  #parts(parts: readonly ts.Type[]): JsonSchema {
    const [only] = parts;
    if (parts.length === 1 && only !== undefined) return this.#part(only);
    if (parts.every((part) => part.isStringLiteral()))
      return { enum: parts.map((part) => (part as ts.StringLiteralType).value) };
    if (parts.every((part) => (part.flags & ts.TypeFlags.BooleanLiteral) !== 0)) return { type: 'boolean' };
    return { anyOf: parts.map((part) => this.schemaOf(part)) };
  }

  #part(type: ts.Type): JsonSchema {
    if (type.isStringLiteral() || type.isNumberLiteral()) return { const: type.value };
    if ((type.flags & ts.TypeFlags.BooleanLiteral) !== 0)
      return { const: this.#checker.typeToString(type) === 'true' };
    if ((type.flags & ts.TypeFlags.String) !== 0) return { type: 'string' };
    if ((type.flags & ts.TypeFlags.Number) !== 0) return { type: 'number' };
    if ((type.flags & ts.TypeFlags.Boolean) !== 0) return { type: 'boolean' };
    if ((type.flags & ts.TypeFlags.Null) !== 0) return { type: 'null' };
    if ((type.flags & ts.TypeFlags.Unknown) !== 0) return {};
    const alias = type.aliasSymbol?.name;
    if (alias !== undefined && Object.hasOwn(anyJson, alias)) return anyJson[alias] ?? {};
    if (this.#checker.isArrayType(type)) {
      const [item] = this.#checker.getTypeArguments(type as ts.TypeReference);
      return { type: 'array', items: item === undefined ? {} : this.schemaOf(item) };
    }
    const index = type.getStringIndexType();
    if (index !== undefined && type.getProperties().length === 0)
      return { type: 'object', additionalProperties: this.schemaOf(index) };
    if ((type.flags & (ts.TypeFlags.Object | ts.TypeFlags.Intersection)) !== 0)
      return this.#object(type.getProperties());
    throw new Error(`No schema for ${this.#checker.typeToString(type)}.`);
  }
}

const partsOf = (type: ts.Type): readonly ts.Type[] => (type.isUnion() ? type.types : [type]);
const withoutUndefined = (type: ts.Type): readonly ts.Type[] =>
  partsOf(type).filter(({ flags }) => (flags & ts.TypeFlags.Undefined) === 0);

/** Worth a definition of its own: objects and unions that have a name. */
const isNamed = (type: ts.Type): boolean =>
  type.isUnion() || (type.flags & ts.TypeFlags.Object) !== 0 || type.isIntersection();

const textOf = (parts: readonly ts.SymbolDisplayPart[]): string =>
  parts
    .map(({ text }) => text)
    .join('')
    .replaceAll(/\s+/g, ' ')
    .trim();
