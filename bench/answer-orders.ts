import type { Runtime } from 'quittance';
import type { OpenLedger } from 'quittance/store';
import type { HttpServer } from '@quittance/server';

/** Lets the parent process ask for the state of its server and end it. First reports the server's address. */
export function answerOrders(
  { server, runtime, ledger }: { server: HttpServer; runtime: Runtime; ledger: OpenLedger },
  report: () => object,
): void {
  process.on('message', (order: 'report' | 'stop') => {
    if (order === 'report') return void process.send?.(report());
    void server.close().then(async () => {
      await runtime.close();
      await ledger.close();
      process.exit(0);
    });
  });
  process.send?.({ url: server.url, token: server.token });
}
