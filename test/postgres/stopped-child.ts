/** Starts a call whose body ends when the parent says so. */
import { createRuntime, defineTool } from 'quittance';
import { openPostgresLedger } from '../../packages/postgres/src/open-postgres-ledger.ts';

const finish = new Promise<void>((resolve) => process.once('message', () => resolve()));
const ledger = await openPostgresLedger(process.env['TEST_URL'] ?? '', {
  sealKey: Buffer.alloc(32, 1),
  spillFolder: 'stopped-spill',
});
const runtime = createRuntime({
  ledger,
  tools: [
    defineTool({
      name: 'send_mail',
      mode: 'external',
      run: async () => {
        process.send?.('running');
        await finish;
        return { sent: true };
      },
    }),
  ],
});
await runtime.turn({ sessionId: 's' }).call({ id: 'c', name: 'send_mail', arguments: {} });
await runtime.close();
await ledger.close();
process.disconnect();
