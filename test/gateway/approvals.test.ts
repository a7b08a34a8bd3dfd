/** Calls through the gateway that wait for people: approvals by rule, and questions for clients that cannot be asked. */
import { describe, expect, test } from 'vitest'
import { ASKLESS, askless, principalOf, textOf, waitingIn } from '../questions/fixtures/askless.ts'
import { MANAGERS, newStore, startAsking, startBank, STORES } from './fixtures/bank.ts'
import { sessionServer, stdioEntry } from './fixtures/gateways.ts'

const mia = principalOf('mia')
const stateless = { pannier: { state: 'stateless' } }

describe.each(STORES)('with %s', (store) => {
  test.each(ASKLESS)('a call of %s is sent once a manager has approved it, at another gateway', async (kind) => {
    const { url: bank, paid } = await startBank()
    const settings = { ...(await newStore(store)), approve: [MANAGERS] }
    const servers = { bank: { url: bank, ...stateless } }
    const [first, second] = [await startAsking(servers, settings), await startAsking(servers, settings)]
    const ann = await askless(kind, first.url, 'ann')
    const waiting = await ann.call('bank_pay', { amount: 5, to: 'bo' })
    expect(textOf(waiting)).toContain('It waits for role:manager to answer: Approve a call of the tool "pay"')
    expect(textOf(waiting)).toContain('Caller: "ann"\nArguments: {"amount":5,"to":"bo"}')
    const { ticket } = waitingIn(waiting)
    expect(await ann.tools()).toContain('continue_call')
    expect((await second.gateway.questions.open({ for: principalOf('bob') })).questions).toEqual([])
    const { questions } = await second.gateway.questions.open({ for: mia })
    expect(questions).toMatchObject([{ tool: 'bank_pay', caller: 'ann', by: ['role:manager'], fourEyes: true }])
    expect(paid).toEqual([])
    await second.gateway.questions.answer(questions[0]!.id, { approve: true }, mia)
    const other = await askless(kind, second.url, 'ann')
    expect(textOf(await other.call('continue_call', { ticket }))).toBe('paid 5')
    expect(paid).toEqual([5])
    expect(textOf(await ann.call('bank_pay', { amount: 5, to: 'bo' }))).toContain('It waits for role:manager')
    expect(textOf(await ann.call('bank_balance'))).toBe('1')
  })

  test.each(ASKLESS)('a question of a server in either era is answered on a page for %s', async (kind) => {
    const { url: bank, paid } = await startBank()
    const { url: http } = await sessionServer()
    const servers = { bank: { url: bank, ...stateless }, http: { url: http }, program: stdioEntry() }
    const { url, gateway } = await startAsking(servers, await newStore(store))
    const ann = await askless(kind, url, 'ann')
    const answer = async (waiting: Awaited<ReturnType<typeof ann.call>>) => {
      const { questions } = waitingIn(waiting)
      const form = new URLSearchParams({ action: 'accept', 'field.sure': 'yes' })
      const page = await fetch(questions[0]?.url ?? '', { method: 'POST', body: form })
      expect([page.status, await page.text()]).toEqual([200, expect.stringContaining('Your answer was sent')])
    }
    const asked = await ann.call('bank_transfer', { amount: 7 })
    expect(textOf(asked)).toContain('The question: Transfer 7?\nAnswer it here: ')
    expect((await gateway.questions.open({ for: principalOf('ann') })).questions).toMatchObject([
      { tool: 'bank_transfer' },
    ])
    await answer(asked)
    expect(textOf(await ann.call('bank_transfer', { amount: 7 }))).toBe('transferred 7')
    expect(paid).toEqual([7])
    for (const tool of ['http_confirm', 'program_confirm']) {
      const first = await ann.call(tool)
      expect(textOf(first)).toContain('The question: Sure?')
      await answer(first)
      const second = await ann.call('continue_call', { ticket: waitingIn(first).ticket })
      expect(textOf(second)).toContain('The question: Really?')
      await answer(second)
      expect(textOf(await ann.call(tool))).toBe('accept true, accept true')
    }
  })
})
