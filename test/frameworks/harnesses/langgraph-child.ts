/**
 * A process with an agent whose thread is stored in a file: `node langgraph-child.ts FOLDER WHEN`. It
 * continues an existing thread, and dies on command. Its model gives every call a new id, as models do.
 */
import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { HumanMessage, ToolMessage } from '@langchain/core/messages';
import { tool } from '@langchain/core/tools';
import { MemorySaver } from '@langchain/langgraph';
import { createAgent } from 'langchain';
import { governTools } from '@quittance/langchain';
import { openLedger } from 'quittance/ledger';
import { ScriptedModel } from './langchain-harness.ts';

export type Dies = 'in the body' | 'before the answer is kept' | 'never';

const [folder = '', dies] = process.argv.slice(2) as [string?, Dies?];
const die = (): void => void process.kill(process.pid, 'SIGKILL');

class FileSaver extends MemorySaver {
  readonly #path = join(folder, 'thread.json');

  constructor() {
    super();
    if (existsSync(this.#path)) Object.assign(this, JSON.parse(readFileSync(this.#path, 'utf8'), toBytes));
  }

  override async put(...args: Parameters<MemorySaver['put']>): ReturnType<MemorySaver['put']> {
    const put = await super.put(...args);
    this.#keep();
    return put;
  }

  override async putWrites(...args: Parameters<MemorySaver['putWrites']>): Promise<void> {
    const [, writes] = args;
    if (dies === 'before the answer is kept' && writes.some(([, value]) => isAnswer(value))) die();
    await super.putWrites(...args);
    this.#keep();
  }

  #keep(): void {
    const { storage, writes } = this;
    writeFileSync(this.#path, JSON.stringify({ storage, writes }, toText));
  }
}

const isAnswer = (value: unknown): boolean => [value].flat().some((one) => ToolMessage.isInstance(one));
const toText = (_: string, value: unknown): unknown =>
  value instanceof Uint8Array ? { $bytes: Buffer.from(value).toString('base64') } : value;
const toBytes = (_: string, value: { readonly $bytes?: string } | null): unknown =>
  typeof value?.$bytes === 'string' ? new Uint8Array(Buffer.from(value.$bytes, 'base64')) : value;

const pay = tool(
  ({ cents }: { readonly cents: number }) => {
    appendFileSync(join(folder, 'effects.txt'), `${cents}\n`);
    if (dies === 'in the body') die();
    return { paid: cents };
  },
  {
    name: 'pay',
    description: 'Pays.',
    schema: { type: 'object', properties: { cents: { type: 'number' } }, required: ['cents'] },
  },
);

const isNew = !existsSync(join(folder, 'thread.json'));
const ledger = await openLedger(join(folder, 'ledger.db'));
const { tools, runtime } = await governTools([pay as never], { ledger });
const call = { id: `call_${crypto.randomUUID()}`, name: 'pay', arguments: { cents: 5 } };
const model = new ScriptedModel(isNew ? [{ calls: [call] }, { text: 'Done.' }] : [{ text: 'Done.' }]);
const agent = createAgent({ model, tools, checkpointer: new FileSaver() });
const { messages } = await agent.invoke(isNew ? { messages: [new HumanMessage('Go.')] } : (null as never), {
  configurable: { thread_id: 'thread-1' },
  durability: 'sync',
});
process.stdout.write(`${JSON.stringify({ text: messages.at(-1)?.text, told: model.told })}\n`);
await runtime.close();
await ledger.close();
process.exit(0);
