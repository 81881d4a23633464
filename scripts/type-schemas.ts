/** Turns TypeScript types into JSON Schema, with the compiler's own type checker. */
import ts from 'typescript';

export type JsonSchema = { readonly [name: string]: unknown };

export type TypeSchemaOptions = {
  /** What a reference to a named type begins with, for example `#/$defs/`. */
  readonly refPrefix: string;
  /**
   * Is this property described in full? An object of such properties refuses unknown ones. Other objects may have more
   * properties, and of theirs the schema has only texts, numbers, flags and choices. By default, all properties are
   * described and all objects are open.
   */
  readonly isDescribed?: (property: ts.Declaration | undefined) => boolean;
  /** Does the schema contain the doc comment of this property? By default, it does. */
  readonly isDocumented?: (property: ts.Declaration | undefined) => boolean;
  /** What a tag may name instead of a number: `@maxLength limits.nameChars`. */
  readonly numbers?: { readonly [name: string]: unknown };
  /** Schemas of named types that are not read from their declaration. */
  readonly given?: { readonly [name: string]: JsonSchema };
};

/** Constraints that TypeScript cannot express. A JSDoc tag of the same name states them. */
const numberTags = new Set(['minimum', 'maximum', 'minLength', 'maxLength', 'minItems', 'maxItems']);

export class TypeSchemas {
  /** The schemas of all named types that were referred to. */
  readonly definitions: { [name: string]: JsonSchema } = {};
  /** The file that declares each of them. */
  readonly files: { [name: string]: string } = {};
  readonly #checker: ts.TypeChecker;
  readonly #options: TypeSchemaOptions;
  /** Types that were exported under a name, which an alias of an alias would lose. */
  readonly #exported = new Map<ts.Type, ts.Symbol>();
  readonly #given: { readonly [name: string]: JsonSchema };

  constructor(program: ts.Program, options: TypeSchemaOptions) {
    this.#checker = program.getTypeChecker();
    this.#options = options;
    this.#given = { JsonValue: {}, JsonObject: { type: 'object' }, ...options.given };
  }

  /** Makes an exported type a definition under its exported name. Texts and numbers get none. */
  define(exported: ts.Symbol): void {
    const type = this.#checker.getDeclaredTypeOfSymbol(exported);
    if (!isNamed(type)) return;
    this.#exported.set(type, exported);
    this.schemaOf(type);
  }

  schemaOf(type: ts.Type): JsonSchema {
    const exported = this.#exported.get(type);
    const symbol = exported ?? type.aliasSymbol;
    const name = symbol?.name;
    if (name !== undefined && Object.hasOwn(this.#given, name)) return this.#given[name] ?? {};
    const parts = withoutUndefined(type);
    const isWhole = parts.length === partsOf(type).length;
    if (name === undefined || !isWhole || !isNamed(type)) return this.#parts(parts);
    if (!Object.hasOwn(this.definitions, name)) {
      this.definitions[name] = {}; // for types that refer to themselves
      this.files[name] = symbol?.declarations?.[0]?.getSourceFile().fileName ?? '';
      const about = exported === undefined ? '' : textOf(exported.getDocumentationComment(this.#checker));
      this.definitions[name] = { ...(about !== '' && { description: about }), ...this.#parts(parts) };
    }
    return { $ref: `${this.#options.refPrefix}${name}` };
  }

  object(properties: readonly ts.Symbol[]): JsonSchema {
    const told = properties.filter(
      (one) =>
        // A variant of a union may have a property that is always undefined, which JSON never has.
        withoutUndefined(this.typeOf(one)).length > 0 &&
        (this.#isDescribed(one) || this.#isSimple(this.typeOf(one))),
    );
    const required = told.filter((property) => !this.isOptional(property)).map(({ name }) => name);
    const isClosed =
      this.#options.isDescribed !== undefined && properties.every((one) => this.#isDescribed(one));
    return {
      type: 'object',
      properties: Object.fromEntries(told.map((property) => [property.name, this.#property(property)])),
      ...(required.length > 0 && { required }),
      ...(isClosed && { additionalProperties: false }),
    };
  }

  #isDescribed({ valueDeclaration }: ts.Symbol): boolean {
    return this.#options.isDescribed?.(valueDeclaration) ?? true;
  }

  #isSimple(type: ts.Type): boolean {
    return withoutUndefined(type).every(
      (part) => this.#simple(part) !== undefined || Object.hasOwn(this.#given, part.aliasSymbol?.name ?? ''),
    );
  }

  isOptional(property: ts.Symbol): boolean {
    const type = this.typeOf(property);
    return (
      (property.flags & ts.SymbolFlags.Optional) !== 0 ||
      withoutUndefined(type).length !== partsOf(type).length
    );
  }

  typeOf(property: ts.Symbol): ts.Type {
    return this.#checker.getTypeOfSymbol(property);
  }

  #property(property: ts.Symbol): JsonSchema {
    const declaration = property.valueDeclaration;
    const node = declaration && ts.isPropertySignature(declaration) ? declaration.type : undefined;
    const isDocumented = this.#options.isDocumented?.(declaration) ?? true;
    const about = isDocumented ? textOf(property.getDocumentationComment(this.#checker)) : '';
    return {
      ...this.schemaOf(this.typeOf(property)),
      ...this.#fromAlias(node),
      ...(declaration && this.#constraintsOf(declaration)),
      ...(about !== '' && { description: about }),
    };
  }

  /** The type checker forgets names of texts and numbers, so their constraints are read from the syntax. */
  #fromAlias(node: ts.TypeNode | undefined): JsonSchema {
    if (node === undefined) return {};
    if (ts.isUnionTypeNode(node)) {
      const others = node.types.filter(({ kind }) => kind !== ts.SyntaxKind.UndefinedKeyword);
      return others.length === 1 ? this.#fromAlias(others[0]) : {};
    }
    if (ts.isTypeOperatorNode(node)) return this.#fromAlias(node.type);
    if (ts.isArrayTypeNode(node)) {
      const items = this.#fromAlias(node.elementType);
      return Object.keys(items).length === 0
        ? {}
        : { items: { ...this.schemaOf(this.#checker.getTypeFromTypeNode(node.elementType)), ...items } };
    }
    if (!ts.isTypeReferenceNode(node)) return {};
    const named = this.#checker.getSymbolAtLocation(node.typeName);
    const alias = named && named.flags & ts.SymbolFlags.Alias ? this.#checker.getAliasedSymbol(named) : named;
    const declaration = alias?.declarations?.find(ts.isTypeAliasDeclaration);
    if (alias === undefined || declaration === undefined) return {};
    if (isNamed(this.#checker.getDeclaredTypeOfSymbol(alias))) return {};
    const about = textOf(alias.getDocumentationComment(this.#checker));
    return { ...this.#constraintsOf(declaration), ...(about !== '' && { description: about }) };
  }

  #constraintsOf(declaration: ts.Declaration): JsonSchema {
    const found: { [name: string]: string | number } = {};
    for (const { tagName, comment } of ts.getJSDocTags(declaration)) {
      const name = tagName.text;
      const value = ts.getTextOfJSDocComment(comment)?.trim() ?? '';
      if (numberTags.has(name)) found[name] = this.#number(value);
      if (name === 'pattern') found[name] = value;
      if (name === 'integer') found['type'] = 'integer';
    }
    return found;
  }

  #number(text: string): number {
    let value: unknown = this.#options.numbers;
    for (const name of text.split('.'))
      value = (value as { readonly [name: string]: unknown } | undefined)?.[name];
    const number = typeof value === 'number' ? value : Number(text);
    if (Number.isNaN(number)) throw new Error(`A tag says ${JSON.stringify(text)}, which is not a number.`);
    return number;
  }

  #parts(parts: readonly ts.Type[]): JsonSchema {
    const [only] = parts;
    if (parts.length === 1 && only !== undefined) return this.#part(only);
    if (parts.every((part) => part.isStringLiteral()))
      return { enum: parts.map((part) => (part as ts.StringLiteralType).value).toSorted() };
    if (parts.every((part) => (part.flags & ts.TypeFlags.BooleanLiteral) !== 0)) return { type: 'boolean' };
    return {
      anyOf: parts.map((part) => (part.aliasSymbol ? this.schemaOf(part) : this.#part(part))),
    };
  }

  #part(type: ts.Type): JsonSchema {
    const simple = this.#simple(type);
    if (simple !== undefined) return simple;
    const alias = type.aliasSymbol?.name;
    if (alias !== undefined && Object.hasOwn(this.#given, alias)) return this.#given[alias] ?? {};
    if (this.#checker.isArrayType(type)) {
      const [item] = this.#checker.getTypeArguments(type as ts.TypeReference);
      return { type: 'array', items: item === undefined ? {} : this.schemaOf(item) };
    }
    const index = type.getStringIndexType();
    if (index !== undefined && type.getProperties().length === 0)
      return { type: 'object', additionalProperties: this.schemaOf(index) };
    if ((type.flags & (ts.TypeFlags.Object | ts.TypeFlags.Intersection)) !== 0)
      return this.object(type.getProperties());
    throw new Error(`No schema for ${this.#checker.typeToString(type)}.`);
  }

  #simple(type: ts.Type): JsonSchema | undefined {
    if (type.isStringLiteral() || type.isNumberLiteral()) return { const: type.value };
    if ((type.flags & ts.TypeFlags.BooleanLiteral) !== 0)
      return { const: this.#checker.typeToString(type) === 'true' };
    if ((type.flags & ts.TypeFlags.StringLike) !== 0) return { type: 'string' };
    if ((type.flags & ts.TypeFlags.Number) !== 0) return { type: 'number' };
    if ((type.flags & ts.TypeFlags.Boolean) !== 0) return { type: 'boolean' };
    if ((type.flags & ts.TypeFlags.Null) !== 0) return { type: 'null' };
    return (type.flags & ts.TypeFlags.Unknown) === 0 ? undefined : {};
  }
}

const partsOf = (type: ts.Type): readonly ts.Type[] => (type.isUnion() ? type.types : [type]);
const withoutUndefined = (type: ts.Type): readonly ts.Type[] =>
  partsOf(type).filter(({ flags }) => (flags & ts.TypeFlags.Undefined) === 0);

/** Only objects and unions get a definition of their own. */
const isNamed = (type: ts.Type): boolean =>
  type.isUnion() || (type.flags & ts.TypeFlags.Object) !== 0 || type.isIntersection();

export const textOf = (parts: readonly ts.SymbolDisplayPart[]): string =>
  parts
    .map(({ text }) => text)
    .join('')
    .replaceAll(/\s+/g, ' ')
    .trim();

/** A program of these files, with the settings of the sources. */
export const createTypeProgram = (files: readonly string[]): ts.Program =>
  ts.createProgram(files, {
    strict: true,
    exactOptionalPropertyTypes: true,
    target: ts.ScriptTarget.ES2023,
    module: ts.ModuleKind.NodeNext,
    moduleResolution: ts.ModuleResolutionKind.NodeNext,
    customConditions: ['quittance-source'],
    allowImportingTsExtensions: true,
    noEmit: true,
    types: ['node'],
  });

export function exportsOf(program: ts.Program, file: string): readonly ts.Symbol[] {
  const source = program.getSourceFile(file);
  const symbol = source && program.getTypeChecker().getSymbolAtLocation(source);
  if (symbol === undefined) throw new Error(`${file} exports nothing.`);
  return program.getTypeChecker().getExportsOfModule(symbol);
}
