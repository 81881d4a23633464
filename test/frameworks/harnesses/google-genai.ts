/** A plain loop over the Google GenAI SDK, whose requests are answered from a script. */
import type { Content, GenerateContentResponse } from '@google/genai';
import { GoogleGenAI } from '@google/genai';
import { governTools } from '@quittance/google-genai';
import type { Harness, Told } from '../suite/harness.ts';
import { plainTools } from './plain-tools.ts';
import { serveGemini } from './scripted-gemini.ts';

const harness: Harness = {
  name: 'Google GenAI SDK',
  module: import.meta.url,
  streams: true,
  suspends: false,
  async start(tools, options) {
    const governed = await governTools(plainTools(tools), options);
    return {
      runtime: governed.runtime,
      async run(script, { sessionId, signal, stream = false }) {
        const told: Told[] = [];
        const server = await serveGemini(script, told);
        try {
          const { models } = new GoogleGenAI({ apiKey: 'none', httpOptions: { baseUrl: server.url } });
          const contents: Content[] = [{ role: 'user', parts: [{ text: 'Go.' }] }];
          const run = governed.run({ sessionId, conversation: contents });
          for (;;) {
            const config = { tools: run.tools, ...(signal !== undefined && { abortSignal: signal }) };
            const request = { model: 'scripted', contents, config };
            const chunks: GenerateContentResponse[] = [];
            if (stream)
              for await (const chunk of await models.generateContentStream(request)) chunks.push(chunk);
            else chunks.push(await models.generateContent(request));
            const parts = chunks.flatMap(({ candidates }) => candidates?.[0]?.content?.parts ?? []);
            const results = await run.answer(chunks, { ...(signal !== undefined && { signal }) });
            signal?.throwIfAborted();
            if (results.length === 0) return { text: parts.map(({ text }) => text).join(''), told };
            contents.push({ role: 'model', parts }, { role: 'user', parts: results });
          }
        } finally {
          await server.close();
        }
      },
    };
  },
};
export default harness;
