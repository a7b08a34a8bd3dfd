/** A Lambda function behind a function URL, with the variable PANNIER_KEYS and the invoke mode RESPONSE_STREAM. */
// #region function
import { orders } from '../workers/orders.ts' // a function that calls createServer and adds tools
import { streaming } from './adapter.ts'

export const handler = streaming(orders().fetch)
// #endregion function
