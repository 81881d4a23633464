/** Tools that programs in other languages run, declared as data: a list of JSON, each with a JSON Schema. */
import { QuittanceError } from 'quittance/internal/base/error';
import type { JsonObject, JsonValue } from 'quittance/internal/base/json';
import { isJsonObject } from 'quittance/internal/base/json';
import type { AnyTool } from 'quittance/internal/tool/define-tool';
import { defineTool } from 'quittance/internal/tool/define-tool';
import type { ToolMode } from 'quittance/internal/tool/mode';
import { jsonSchema } from 'quittance/internal/tool/schema';

/** One tool of a catalog. The client or a worker runs it and reports the result. */
export type CatalogTool = {
  readonly name: string;
  readonly description?: string;
  readonly displayName?: string;
  readonly mode?: ToolMode;
  /** JSON Schema of its arguments. The default is any object. */
  readonly input?: JsonObject;
  /** JSON Schema of the reported output. */
  readonly output?: JsonObject;
  readonly idempotent?: boolean;
  readonly timeoutMs?: number;
  readonly costMicros?: number;
  readonly rerun?: 'ask' | 'deny' | 'allow';
};

const names: ReadonlySet<string> = new Set([
  'name',
  'description',
  'displayName',
  'mode',
  'input',
  'output',
  'idempotent',
  'timeoutMs',
  'costMicros',
  'rerun',
]);

/** The tools of a catalog: `{ "tools": [ … ] }` or the list itself. Throws `config.invalid` and says which tool. */
export function toolsFromCatalog(catalog: JsonValue): readonly AnyTool[] {
  const listed = isJsonObject(catalog) ? catalog['tools'] : catalog;
  if (!Array.isArray(listed)) throw invalid('a catalog is {"tools": [{"name": "refund", "input": {…}}]}.');
  return (listed as readonly JsonValue[]).map((item, index) => {
    if (!isJsonObject(item) || typeof item['name'] !== 'string')
      throw invalid(`tools[${index}] must be an object with a name.`);
    const unknown = Object.keys(item).find((key) => !names.has(key));
    if (unknown !== undefined)
      throw invalid(
        `tools[${index}] has a field ${JSON.stringify(unknown)}. Known ones: ${[...names].join(', ')}.`,
      );
    const { input, output, ...rest } = item as unknown as CatalogTool; // defineTool checks every field
    for (const [field, schema] of Object.entries({ input, output }))
      if (schema !== undefined && !isJsonObject(schema))
        throw invalid(`tools[${index}].${field} must be a JSON Schema, as an object.`);
    return defineTool({
      ...rest,
      ...(input !== undefined && { input: jsonSchema(input) }),
      ...(output !== undefined && { output: jsonSchema(output) }),
      handoff: true,
    });
  });
}

const invalid = (problem: string): QuittanceError =>
  new QuittanceError('config.invalid', `The catalog of tools: ${problem}`);
