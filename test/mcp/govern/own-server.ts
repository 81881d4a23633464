/** The tools of a runtime as an MCP server over standard input and output. */
import { createRuntime, defineTool } from 'quittance';
import { serveMcp } from '@quittance/mcp';

const runtime = createRuntime({
  tools: [
    defineTool({
      name: 'get_sum',
      description: 'Adds two numbers.',
      input: {
        type: 'object',
        properties: { a: { type: 'number' }, b: { type: 'number' } },
        required: ['a', 'b'],
      },
      output: { type: 'object', properties: { sum: { type: 'number' } }, required: ['sum'] },
      run: (args) => {
        const { a, b } = args as { a: number; b: number };
        return { sum: a + b };
      },
    }),
    defineTool({ name: 'delete_all', run: () => 'deleted' }),
  ],
});
serveMcp(runtime, { name: 'sums' }).stdio();
