/** Quotas for the other folders of this package. */
export { fairShareOf, groupOf, Quota } from './quota.ts'
