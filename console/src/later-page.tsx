import type { ComponentType, ReactNode } from 'react';
import { lazy, useState } from 'react';

/** A page, and how its chunk is read before it is shown. */
export type ShownPage = { readonly load: () => Promise<unknown>; readonly shown: ReactNode };

/**
 * A page in a chunk of its own. `lazy` alone shows a stand-in even where the chunk is there already, and React leaves
 * that standing for a third of a second so as not to flicker: a page that is there is shown at once.
 */
export function laterPage<Props extends object>(
  read: () => Promise<{ readonly default: ComponentType<Props> }>,
): (props: Props) => ShownPage {
  let here: ComponentType<Props> | undefined;
  const load = async (): Promise<{ readonly default: ComponentType<Props> }> => {
    const chunk = await read();
    here = chunk.default;
    return chunk;
  };
  const Later = lazy(load);
  function Page(props: Props): ReactNode {
    // Chosen once: to go from one to the other would throw away what the page holds.
    const [Shown] = useState<ComponentType<Props>>(() => here ?? Later);
    return <Shown {...props} />;
  }
  return (props) => ({ load, shown: <Page {...props} /> });
}
