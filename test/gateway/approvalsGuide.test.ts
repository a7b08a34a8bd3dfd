/** The guide "Approve calls by rule": its file is served, and what it shows is what callers read. */
import { readFileSync } from 'node:fs'
import { readGatewayConfig } from 'pannier/gateway'
import { expect, test } from 'vitest'
import { approve, inbox } from '../../docs/snippets/gatewayApprovals.ts'
import { askless, principalOf, textOf, waitingIn } from '../questions/fixtures/askless.ts'
import { newStore, startAsking, startBank } from './fixtures/bank.ts'

test('the rules of the guide let a call wait, which a program approves', async () => {
  const guide = readFileSync('docs/how-to/gateway-approvals.md', 'utf8')
  process.env['JWKS_URL'] = 'https://login.example.com/keys'
  process.env['CRM_URL'] = 'https://crm.example.com/mcp'
  const { settings } = await readGatewayConfig('examples/gateway/approvals.jsonc')
  expect(settings).toMatchObject({ store: 'questions.db', publicUrl: 'https://mcp.example.com' })
  const { url: crm, paid } = await startBank()
  const servers = { crm: { url: crm, pannier: { state: 'stateless' } } }
  const own = { ...(await newStore('SQLite')), publicUrl: settings.publicUrl, approve: settings.approve }
  const { url, gateway } = await startAsking(servers, own)
  const ann = await askless('SDK v2', url, 'ann')
  const waiting = await ann.call('crm_pay', { amount: 500, to: 'bo' })
  const [first = '', ticket = ''] = textOf(waiting).split('\n\n').slice(1)
  expect(first).toBe(
    'It waits for role:manager to answer: Approve a call of the tool "pay" of the server "crm"?\nCaller: "ann"\nArguments: {"amount":500,"to":"bo"}',
  )
  for (const shown of [
    'It waits for role:manager to answer: Approve a call of the tool "',
    'Caller: "ann"',
    'Arguments: {',
  ])
    expect(guide).toContain(shown)
  expect(ticket).toMatch(/^Afterwards call the tool continue_call with \{"ticket":"gateway_call_/)
  const mia = principalOf('mia')
  const [line = ''] = await inbox(gateway, mia)
  expect(line).toContain('ann calls crm_pay')
  await approve(gateway, line.split(' ')[0] ?? '', mia)
  expect(textOf(await ann.call('continue_call', { ticket: waitingIn(waiting).ticket }))).toBe('paid 500')
  expect(paid).toEqual([500])
  const { ticket: other } = waitingIn(await ann.call('crm_transfer', { amount: 1 }))
  await approve(gateway, (await gateway.questions.open({ for: mia })).questions[0]?.id ?? '', mia)
  const asked = waitingIn(await ann.call('continue_call', { ticket: other }))
  expect(asked.questions[0]?.url).toMatch(/^https:\/\/mcp\.example\.com\/mcp\/question\//)
})
