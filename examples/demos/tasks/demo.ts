/** `npm run demo -- tasks`: a task asks, its process is killed, and another process gets the answer and continues. */
import { join } from 'node:path'
import { answerTask, connect, getTask, type Task, taskOf, watchTask } from 'pannier/client'
import { type Instance, startInstance } from '../../work-items/fleet.ts'
import { event, headline, instanceName, note, say } from '../../work-items/show.ts'

const POLL_MS = 50
const MAX_POLLS = 400

export async function tasksDemo(folder: string): Promise<void> {
  headline('Pannier demo: a task that asks, its process killed, answered on another one')
  note('A long call becomes a task, whose journal is in a file. Nobody has to stay connected, and no process to live.')
  const start = (name: string) => {
    const env = { TASKS: join(folder, 'tasks.db') }
    return startInstance({ name, program: join(import.meta.dirname, 'server.ts'), env })
  }
  const a = await start('A')
  const taskId = await createTask(a)
  await a.end('SIGKILL')
  say()
  event('Instance A is killed (SIGKILL). No process is left; the task waits in the file.')
  await answerAndFinish(await start('B'), taskId)
  say()
  say('Shown: a task of two steps and a question. What A had done was not done again: it was on disk before A asked.')
  say('Read next: examples/demos/tasks/server.ts (the tool), docs/how-to/tasks.md, and docs/how-to/approval.md.')
}

// #region create
/** Makes the task, and waits until it asks. */
async function createTask(instance: Instance): Promise<string> {
  const client = await connect(instance.url, { tasks: { handle: true } })
  say()
  headline(`tools/call bake, sent to instance ${instance.name}, process ${instance.child.pid}`)
  const { taskId = '' } = taskOf(await client.callTool({ name: 'bake', arguments: {} })) ?? {}
  say('  answer   a task: the call goes on without its client')
  for (let poll = 0; poll < MAX_POLLS; poll++) {
    const task = await getTask(client, taskId)
    if (task.status === 'input_required') {
      showQuestion(task)
      await client.close()
      return taskId
    }
    await new Promise((resolve) => setTimeout(resolve, POLL_MS))
  }
  throw new Error('the task did not ask.')
}
// #endregion create

function showQuestion({ status, inputRequests = {} }: Task): void {
  say(`  status   ${status}`)
  for (const [key, { params }] of Object.entries(inputRequests)) {
    say(`  asks     ${key}: ${params !== undefined && 'message' in params ? String(params.message) : ''}`)
  }
}

// #region answer
/** Another process, and another client: all they have in common with the first is the file, and the id of the task. */
async function answerAndFinish(instance: Instance, taskId: string): Promise<void> {
  say()
  headline(`tasks/get and tasks/update, sent to instance ${instance.name}, process ${instance.child.pid}`)
  const client = await connect(instance.url)
  showQuestion(await getTask(client, taskId))
  await answerTask(client, taskId, { icing: { text: 'Well done' } })
  say('  answer   icing: { "text": "Well done" }')
  const result = await watchTask(client, taskId)
  const [content] = result['content'] as { text: string }[]
  say(`  status   completed, by instance ${instanceName(instance.name)}`)
  say(`  result   ${content?.text}`)
  await client.close()
}
// #endregion answer
