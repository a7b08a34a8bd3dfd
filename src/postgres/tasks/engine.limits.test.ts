import { expect, test } from 'vitest'
import { ContractHarness, newTask } from '../../../test/tasks/contract/harness.ts'
import { newPostgresStore } from '../../../test/tasks/contract/postgresStore.ts'

const harness = new ContractHarness(newPostgresStore)

test('a caller with too many unfinished tasks gets no other, but the one that its call has created before', async () => {
  const engine = await harness.engine({ maxTasksPerCaller: 1 })
  const first = newTask()
  const { id } = await engine.create(first)
  await expect(engine.create(newTask())).rejects.toMatchObject({ code: 'TASK_LIMIT' })
  expect((await engine.create(first)).id).toBe(id)
  expect((await engine.create(newTask({ owner: 'bob' }))).status).toBe('working')
})

test('one of many members is refused by their own tasks, and all of them together by ten times as many', async () => {
  const engine = await harness.engine({ maxTasksPerCaller: 1 })
  const of = (member: number) => newTask({ holder: 'network', owner: `o${member}`, member: `m${member}` })
  for (let member = 0; member < 10; member++) await engine.create(of(member))
  await expect(engine.create(of(10))).rejects.toMatchObject({ code: 'TASK_LIMIT' })
  const [task] = (await engine.list('o3', undefined, 1)).tasks
  await engine.cancel(task!.id, 'o3')
  await expect(engine.create(of(4))).rejects.toMatchObject({ code: 'TASK_LIMIT' })
  expect((await engine.create(of(3))).status).toBe('working')
})
