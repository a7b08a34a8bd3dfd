/** The guide "Ask people whose client cannot be asked", as a reader would follow it. */
import { createServer } from 'pannier/server'
import { sqliteTasks } from 'pannier/tasks'
import { expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { bookServer, mapServer } from '../../docs/snippets/modelAnswers.ts'
import { approve, branchServer, inbox } from '../../docs/snippets/questions.ts'
import { askless, byName, principalOf, textOf, waitingIn } from './fixtures/askless.ts'

const URL_OF_PEOPLE = 'https://mcp.example.com/mcp'

test('the tool of the guide asks a person by a link at the address of the option', async () => {
  const server = branchServer(sqliteTasks({ path: ':memory:' }), URL_OF_PEOPLE)
  onTestFinished(() => server.drain({ deadlineMs: 0, idleMs: 0 }))
  const client = await askless('SDK v1', (await server.listen({ drainOnTerm: false })).url)
  const { ticket, questions } = waitingIn(await client.call('delete_branch', { branch: 'old' }))
  const link = questions[0]?.url ?? ''
  expect(link.startsWith(`${URL_OF_PEOPLE}/question/`)).toBe(true)
  const body = 'action=accept&field.sure=yes'
  await server.fetch(
    new Request(link, { method: 'POST', body, headers: { 'content-type': 'application/x-www-form-urlencoded' } }),
  )
  expect(textOf(await client.call('continue_call', { ticket }))).toBe('The branch old is gone.')
})

test('the list of the guide has what a person may answer', async () => {
  const server = createServer({
    name: 'x',
    version: '1',
    principal: byName,
    questions: true,
    tasks: sqliteTasks({ path: ':memory:' }),
  })
  onTestFinished(() => server.drain({ deadlineMs: 0, idleMs: 0 }))
  const schema = z.object({ approve: z.boolean() })
  server.tool('spend', { description: 'Spends.' }, async (_, ctx) =>
    String((await ctx.ask('approve', { message: 'Spend it?', schema, by: 'role:manager' })).approve),
  )
  const ann = await askless('SDK v2', (await server.listen({ drainOnTerm: false })).url, 'ann')
  const { ticket } = waitingIn(await ann.call('spend'))
  expect(await inbox(server, principalOf('ann'))).toEqual([])
  const [line = ''] = await inbox(server, principalOf('mia'))
  expect(line).toMatch(/^\S+ ann: Spend it\?$/)
  await approve(server, line.split(' ')[0] ?? '', principalOf('mia'))
  expect(textOf(await ann.call('continue_call', { ticket }))).toBe('true')
})

test('a model answers the question of the guide, and tools follow tasks', async () => {
  const maps = mapServer(':memory:')
  onTestFinished(() => maps.drain({ deadlineMs: 0, idleMs: 0 }))
  const client = await askless('SDK v1', (await maps.listen({ drainOnTerm: false })).url)
  const { questions } = waitingIn(await client.call('measure'))
  const answer = { question: questions[0]?.id, content: { unit: 'km' } }
  expect(textOf(await client.call('answer_question', answer))).toBe('42 km')
  const books = bookServer(':memory:')
  onTestFinished(() => books.drain({ deadlineMs: 0, idleMs: 0 }))
  const reader = await askless('SDK v1', (await books.listen({ drainOnTerm: false })).url)
  expect(await reader.tools()).toEqual(['task_status', 'task_answer', 'task_cancel'])
})
