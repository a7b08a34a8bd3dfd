/**
 * The code of a server that only tasks and open questions need. Imported with a task store, so that other bundles do
 * not contain it.
 */
import type { Call } from '../call.ts'
import { knownCaller } from '../limits/quotaCaller.ts'
import type { ServerOptions } from '../options.ts'
import { ServerQuestions } from '../questions/openQuestions.ts'
import { openQuestionsPart, type QuestionsPart, type QuestionsPartOptions } from '../questions/part.ts'
import type { TaskHost } from '../taskPort.ts'
import { type CallToolOptions, unknownTool } from './callTool.ts'
import { taskRunOf, type TaskRunOptions } from './taskRun.ts'

export const taskWing = { hostOf, openQuestions }

export type TaskWing = typeof taskWing

/** The server, as its tasks see it. */
function hostOf(
  options: CallToolOptions,
  limits: TaskRunOptions,
  about: Pick<TaskHost, 'audience' | 'knowsCallers' | 'notices'>,
): TaskHost {
  return {
    ...about,
    logger: options.logger,
    write: (result, peer) => options.results.ofTask(result, peer),
    run: taskRunOf(options, limits),
    assertMayCall: assertMayCall(options),
    holderOf: knownCaller,
    mayAnswer: (approvers, { principal }, isCaller) =>
      limits.approval?.includes(approvers, principal, isCaller) ?? false,
  }
}

/** For tasks: answering one needs the same rights as calling its tool. */
function assertMayCall({ registry, access }: Pick<CallToolOptions, 'registry' | 'access'>) {
  return (call: Call, tool: string): void =>
    access.assertAllowed(registry.tools.get(tool)?.access, call, () => unknownTool(tool))
}

/** `part` is undefined where no call waits for people. */
function openQuestions(options: ServerOptions, about: Omit<QuestionsPartOptions, 'questions'>, clock: () => number) {
  const part: QuestionsPart | undefined = openQuestionsPart(options, { ...about, questions: () => questions })
  const questions = new ServerQuestions(() => about.desk, about.mayCall, part?.namesOf, clock)
  return { part, questions }
}
