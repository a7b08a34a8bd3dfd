/** What became of a question: on its page, in the library, and for those who come too late. */
import type { Server, ServerOptions } from 'pannier/server'
import { newKey } from 'pannier/state'
import { describe, expect, test, vi } from 'vitest'
import { ENGINES, type EngineName, instancesOver } from '../tasks/fixtures/engines.ts'
import { askless, byName, offerAsking, principalOf, textOf, waitingIn } from './fixtures/askless.ts'

async function serve(engine: EngineName, options: Partial<ServerOptions> = {}): Promise<[Server, string]> {
  const keys = newKey()
  const [server] = await instancesOver(engine, 1, {}, { questions: true, principal: byName, keys, ...options })
  offerAsking(server!, { charged: 0, deleted: [] })
  return [server!, (await server!.listen({ drainOnTerm: false })).url]
}

const form = (action: string) => ({ method: 'POST', body: new URLSearchParams({ action, 'field.sure': 'yes' }) })
const [ann, mia, bob] = ['ann', 'mia', 'bob'].map((name) => principalOf(name))

describe.each(ENGINES)('over %s', (engine) => {
  test('the second answer is refused, and its giver learns of the first one', async () => {
    const [server, url] = await serve(engine)
    const client = await askless('SDK v2', url, 'ann')
    const { questions } = waitingIn(await client.call('delete_branch', { branch: 'old' }))
    const { id, url: link = '' } = questions[0]!
    expect(await server.questions.find(id, ann!)).toMatchObject({
      outcome: { state: 'open' },
      message: 'Delete the branch old?',
    })
    expect((await fetch(link, form('accept'))).status).toBe(200)
    const again = await Promise.all([fetch(link), fetch(link, form('decline'))])
    for (const page of again)
      expect([page.status, await page.text()]).toEqual([
        410,
        expect.stringMatching(/It was answered on .* UTC, on its page\./),
      ])
    await expect(server.questions.answer(id, { sure: true }, ann!)).rejects.toMatchObject({
      code: 'QUESTION_CLOSED',
      message: expect.stringMatching(/^This question is closed\. It was answered on .*, on its page\.$/),
    })
    const found = await server.questions.find(id, ann!)
    expect(found?.outcome).toEqual({ state: 'answered', at: expect.any(Number), way: 'page' })
    expect(found?.outcome.at).toBeGreaterThanOrEqual(found!.askedAt)
    expect(await server.questions.find(id, bob!)).toBeUndefined()
    await expect(server.questions.answer(id, { sure: true }, bob!)).rejects.not.toThrow('It was answered')
  })

  test('who approved is known to the caller and to those who might have, with the claims of that time', async () => {
    const [server, url] = await serve(engine)
    const client = await askless('SDK v2', url, 'ann')
    const { questions } = waitingIn(await client.call('refund', { cents: 5 }))
    const { id } = questions[0]!
    await server.questions.answer(id, 'decline', mia!)
    const outcome = {
      state: 'declined',
      at: expect.any(Number),
      by: { id: mia!.id, subject: 'mia', claims: mia!.claims },
      way: 'program',
    }
    for (const viewer of [ann!, mia!]) expect((await server.questions.find(id, viewer))?.outcome).toEqual(outcome)
    expect(await server.questions.find(id, bob!)).toBeUndefined()
    await expect(server.questions.answer(id, { approve: true }, mia!)).rejects.toThrow(
      /It was declined by mia on .*, by a program\./,
    )
  })

  test('an answer that comes too late changes nothing and says so, and the call fails', async () => {
    const [server, url] = await serve(engine, { questions: { waitSeconds: 0.5 } })
    const client = await askless('SDK v2', url, 'ann')
    // On a busy machine the time of a question may be over before the result of its call is there.
    const ask = async () => waitingIn(await client.call('delete_branch', { branch: 'old' }))
    const { ticket, questions } = await vi.waitFor(ask)
    const { id, url: link = '' } = questions[0]!
    await vi.waitFor(async () => expect((await server.questions.find(id, ann!))?.outcome.state).toBe('expired'))
    const page = await fetch(link, form('accept'))
    expect([page.status, await page.text()]).toEqual([410, expect.stringContaining('There was no answer in time')])
    await expect(server.questions.answer(id, { sure: true }, ann!)).rejects.toThrow('There was no answer in time')
    expect((await server.questions.open({ for: ann! })).questions).toEqual([])
    const result = await client.call('continue_call', { ticket })
    expect([result.isError, textOf(result)]).toEqual([true, 'There was no answer in time.'])
  })
})
