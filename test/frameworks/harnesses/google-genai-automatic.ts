/** Automatic function calling of the Google GenAI SDK, in a chat, whose requests are answered from a script. */
import { GoogleGenAI } from '@google/genai';
import { governTools } from '@quittance/google-genai';
import type { Harness, Told } from '../suite/harness.ts';
import { plainTools } from './plain-tools.ts';
import { serveGemini } from './scripted-gemini.ts';

const harness: Harness = {
  name: 'Google GenAI SDK, automatic function calling',
  module: import.meta.url,
  streams: true,
  suspends: false,
  oneByOne: 'streaming',
  async start(tools, options) {
    const governed = await governTools(plainTools(tools), options);
    return {
      runtime: governed.runtime,
      async run(script, { sessionId, signal, stream = false }) {
        const told: Told[] = [];
        const server = await serveGemini(script, told);
        try {
          const client = new GoogleGenAI({ apiKey: 'none', httpOptions: { baseUrl: server.url } });
          const chat = client.chats.create({ model: 'scripted' });
          const run = governed.run({ sessionId, conversation: chat.getHistory() });
          const given = signal === undefined ? {} : { signal };
          const config = {
            tools: [run.callableTool(given)],
            ...(signal !== undefined && { abortSignal: signal }),
          };
          if (!stream) {
            const { text } = await chat.sendMessage({ message: 'Go.', config });
            return { text, told };
          }
          let text = '';
          for await (const chunk of await chat.sendMessageStream({ message: 'Go.', config }))
            text += chunk.candidates?.[0]?.content?.parts?.map((part) => part.text ?? '').join('') ?? '';
          return { text, told };
        } finally {
          await server.close();
        }
      },
    };
  },
};
export default harness;
