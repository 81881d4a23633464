/** Adopts callable tools of the Google GenAI SDK, such as those of `mcpToTool`. */
import { QuittanceError } from 'quittance/internal/base/error';
import { isJsonObject, ownValue } from 'quittance/internal/base/json';
import { ToolError } from 'quittance/internal/call/tool-error';
import { describeValue } from 'quittance/internal/tool/describe-value';
import { quote } from 'quittance/internal/base/nearest';
import type { AdoptedTool } from '@quittance/adapter-kit/internal/adopt/adopted-tool';
import { readList } from './calls.ts';
import { fromGoogleSchema } from './schema.ts';
import { readHints } from 'quittance/internal/tool/tool-hints';

/** The parts of a callable tool that are read here. */
export type GenAiCallable = {
  tool(): Promise<object>;
  callTool(functionCalls: { id?: string; name?: string; args?: Record<string, unknown> }[]): Promise<unknown>;
};

/** One tool for each function that the callable tool declares. */
export async function readCallable(callable: GenAiCallable): Promise<readonly AdoptedTool<unknown>[]> {
  if (typeof callable?.tool !== 'function' || typeof callable.callTool !== 'function')
    throw new QuittanceError(
      'config.invalid',
      `callableTools expects callable tools of @google/genai, as mcpToTool makes them. Found ${describeValue(callable)}.`,
    );
  const offered = await callable.tool();
  const elsewhere = Object.keys(offered).filter((key) => key !== 'functionDeclarations');
  if (elsewhere.length > 0)
    throw new QuittanceError(
      'config.invalid',
      `A callable tool offers ${elsewhere.map(quote).join(', ')}, which the provider runs, so Quittance ` +
        'cannot run it. Put it into config.tools directly.',
    );
  // A tool made by mcpToTool keeps the tools of its servers, with their annotations.
  const ofServers = readList(callable, 'mcpTools').filter(isJsonObject);
  return readList(offered, 'functionDeclarations')
    .filter(isJsonObject)
    .flatMap((declared) => {
      const { name, description } = declared;
      if (typeof name !== 'string') return [];
      return {
        name,
        description: typeof description === 'string' ? description : undefined,
        input: declared['parametersJsonSchema'] ?? fromGoogleSchema(declared['parameters']),
        hints: readHints(ofServers.find((tool) => tool['name'] === name)),
        run: async (args, _native, { callId }) =>
          toOutput(
            name,
            await callable.callTool([{ id: callId, name, args: args as Record<string, unknown> }]),
          ), // checked by its schema
      };
    });
}

/** The response to the call, or all parts if there are several. */
function toOutput(name: string, answered: unknown): unknown {
  const parts = Array.isArray(answered) ? (answered as readonly unknown[]) : [];
  const responses = parts.flatMap((part) => {
    const response = isJsonObject(part) ? ownValue(part, 'functionResponse') : undefined;
    return isJsonObject(response) ? [response] : [];
  });
  const [only] = responses;
  if (only === undefined) {
    const problem = `The tool ${quote(name)} did not answer the call.`;
    throw new ToolError('tool.execution_error', problem, { problem });
  }
  if (parts.length > 1 || 'parts' in only) return parts;
  const response = only['response'];
  // As the API reads it: the output is in `output`, if present.
  return isJsonObject(response) && Object.keys(response).join() === 'output' ? response['output'] : response;
}
