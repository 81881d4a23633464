import type { ReactNode } from 'react';
import { PageHead } from '../../ui/page-head.tsx';

export default function Calls(_props: { readonly query: URLSearchParams }): ReactNode {
  return <PageHead title="Calls" />;
}
