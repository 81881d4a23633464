/** The event types as TypeScript declares them: a JSON Schema, and the text of each field. */
import { join } from 'node:path';
import ts from 'typescript';
import type { JsonSchema } from './type-schemas.ts';
import { TypeSchemas, createTypeProgram, exportsOf, textOf } from './type-schemas.ts';

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

export function readEventTypes(): {
  readonly events: readonly DescribedEvent[];
  readonly emitted: DescribedEvent;
  readonly definitions: JsonSchema;
} {
  const file = join(import.meta.dirname, '../packages/quittance/src/call/event.ts');
  const emittedFile = join(import.meta.dirname, '../packages/quittance/src/call/emitted-event.ts');
  const program = createTypeProgram([file, emittedFile]);
  const schemas = new TypeSchemas(program, { refPrefix: '#/$defs/' });
  const events = membersOf(program, schemas, file, 'QuittanceEvent');
  const [emitted] = membersOf(program, schemas, emittedFile, 'EmittedEvent');
  if (emitted === undefined) throw new Error('EmittedEvent is not declared.');
  return { events, emitted, definitions: schemas.definitions };
}

function membersOf(program: ts.Program, schemas: TypeSchemas, file: string, name: string): DescribedEvent[] {
  const checker = program.getTypeChecker();
  const alias = exportsOf(program, file).find((one) => one.name === name);
  if (alias === undefined) throw new Error(`${name} is not exported by ${file}.`);
  const type = checker.getDeclaredTypeOfSymbol(alias);
  return (type.isUnion() ? type.types : [type]).map((member) => describeEvent(checker, schemas, member));
}

function describeEvent(checker: ts.TypeChecker, schemas: TypeSchemas, member: ts.Type): DescribedEvent {
  const properties = member.getProperties();
  const typeProperty = properties.find(({ name }) => name === 'type');
  const typeOfType = typeProperty && schemas.typeOf(typeProperty);
  return {
    type: typeOfType?.isStringLiteral() === true ? typeOfType.value : 'your.own',
    name: member.aliasSymbol?.name ?? '',
    about: textOf(member.aliasSymbol?.getDocumentationComment(checker) ?? []),
    fields: properties
      .filter(({ name }) => !envelope.includes(name))
      .map((property) => ({
        name: property.name,
        type: toText(checker, schemas.typeOf(property)),
        optional: schemas.isOptional(property),
        about: textOf(property.getDocumentationComment(checker)),
      })),
    schema: schemas.object(properties),
  };
}

const toText = (checker: ts.TypeChecker, type: ts.Type): string =>
  (type.flags & ts.TypeFlags.Undefined) !== 0
    ? 'undefined'
    : checker
        .typeToString(
          type,
          undefined,
          ts.TypeFormatFlags.NoTruncation | ts.TypeFormatFlags.UseSingleQuotesForStringLiteralType,
        )
        .replaceAll(/ \| undefined$/g, '')
        .replaceAll('readonly ', '');
