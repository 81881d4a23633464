import type { ReactNode } from 'react';
import { PageHead } from '../../ui/page-head.tsx';

export default function Reconcile(): ReactNode {
  return <PageHead title="Reconcile" />;
}
