import { bearer } from 'pannier/server'
import { sqliteLedger } from 'pannier/state'
import { testClient } from 'pannier/testing'
import { refundServer } from './refund.ts'

const bank = { refund: async () => 'R-1' }
const principal = bearer({
  issuer: 'https://login.example.com',
  audience: 'https://mcp.example.com/mcp',
  jwks: 'https://login.example.com/keys',
})

// #region client
const server = refundServer(bank, { principal, ledger: sqliteLedger({ path: ':memory:' }) })
const client = await testClient(server, { principal: { id: 'ann' }, answers: { amount: { cents: 950 } } })

export const result = await client.callTool({ name: 'refund', arguments: { order: 'A-17' } })
// { content: [{ type: 'text', text: 'Refunded 950 cents, receipt R-1.' }] }

await client.close()
await server.drain()
// #endregion client
