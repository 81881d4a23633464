/** DBOS: one workflow with one step. */
import { burstOf, serveLane } from '../postgres/lane.ts';

type Dbos = {
  readonly DBOS: {
    setConfig(config: object): void;
    registerWorkflow<Result>(
      run: (input: object) => Promise<Result>,
      config: object,
    ): (input: object) => Promise<Result>;
    runStep<Result>(run: () => Promise<Result>, config: object): Promise<Result>;
    launch(): Promise<void>;
    shutdown(): Promise<void>;
  };
};

const packageName = '@dbos-inc/dbos-sdk'; // installed by the bench only, so its types are not here

await serveLane(async ({ url }) => {
  const { DBOS } = (await import(packageName)) as Dbos;
  DBOS.setConfig({ name: 'bench', systemDatabaseUrl: url, logLevel: 'error', runAdminServer: false });
  const workflow = DBOS.registerWorkflow(
    (input) => DBOS.runStep(async () => ({ ...input, ok: true }), { name: 'send_mail' }),
    { name: 'bench' },
  );
  await DBOS.launch();
  let made = 0;
  return {
    burst: burstOf(async () => {
      await workflow({ city: 'Lyon', days: made++ });
    }),
    close: () => DBOS.shutdown(),
  };
});
