/** `pannier questions` and `pannier answer`, as a person types them. */
import { newKey } from 'pannier/state'
import { expect, test } from 'vitest'
import { pannier, type Ran } from '../cli/fixtures/program.ts'
import { instancesOver } from '../tasks/fixtures/engines.ts'
import { askless, byName, offerAsking, textOf, waitingIn } from './fixtures/askless.ts'

test('a person lists what waits for them in the terminal, and answers it', async () => {
  const [server] = await instancesOver('SQLite', 1, {}, { questions: true, principal: byName, keys: newKey() })
  offerAsking(server!, { charged: 0, deleted: [] })
  const { url } = await server!.listen({ drainOnTerm: false })
  const ann = await askless('SDK v1', url, 'ann')
  const { ticket } = waitingIn(await ann.call('refund', { cents: 5 }))
  const as = (name: string, ...words: readonly string[]): Promise<Ran> =>
    pannier([...words, '--header', `x-name: ${name}`])

  const nothing = await as('bob', 'questions', url)
  expect(nothing).toMatchObject({ status: 0, stdout: '', stderr: expect.stringContaining('Nothing waits for you.') })
  const listed = await as('mia', 'questions', url)
  expect(listed.stdout).toMatch(/^refund_\S+\nann asks for 5 cents\.\nasks +refund, called by ann\n/)
  const json = await as('mia', 'questions', url, '--output', 'json')
  const { questions } = JSON.parse(json.stdout) as { questions: { id: string }[] }
  const { id = '' } = questions[0] ?? {}

  const wrong = await as('mia', 'answer', url, id, '--answer', 'approved=true')
  expect(wrong).toMatchObject({ status: 2, stderr: expect.stringContaining('approve') })
  expect(await as('mia', 'answer', url, id)).toMatchObject({ status: 2, stderr: expect.stringContaining('--decline') })
  expect(await as('bob', 'answer', url, id, '--decline')).toMatchObject({ status: 4 })
  const answered = await as('mia', 'answer', url, id, '--answer', 'approve=true')
  expect(answered).toMatchObject({
    status: 0,
    stderr: expect.stringMatching(/It was answered by mia on .*, by a program\./),
  })
  expect(textOf(await ann.call('continue_call', { ticket }))).toBe('5 cents, approved by mia')

  expect(await pannier(['questions', url])).toMatchObject({
    status: 3,
    stderr: expect.stringContaining('--bearer-env'),
  })
  expect(await pannier(['questions', 'http://127.0.0.1:1/mcp'])).toMatchObject({ status: 3 })
  expect(await pannier(['questions', 'file:///x'])).toMatchObject({ status: 2 })
})
