/** `--detach`: a call that becomes a task is left to the server, and goes on without us. */
import { type Answerer, type Answerers, ClientError, type Task } from '../../client/index.ts'
import type { Desk } from '../run.ts'
import { EXIT, type ExitCode } from '../exit.ts'
import { jsonText } from '../output/json.ts'

/** What the task asks is answered later, by "pannier task": so the server may ask, but not before it is a task. */
export function answeredLater(): Answerers {
  return unanswered('The server asks before the call is a task. Run this in a terminal, or give --answers or --yes.')
}

/** For a task that is there and may ask, when nobody is here who could answer. */
export function answeredElsewhere(): Answerers {
  return unanswered('It asks something. Run this in a terminal, give --answers, or use "pannier task answer".')
}

function unanswered(sentence: string): Answerers {
  const nobody: Answerer = () => {
    throw new ClientError('QUESTION_UNANSWERED', sentence)
  }
  return { form: nobody, url: nobody }
}

/** Shows the id of the task. Where a server does not know its callers it is all one needs, and so like a secret. */
export function showDetached(task: Task, { display }: Desk, output: 'text' | 'json'): ExitCode {
  display.print(output === 'json' ? jsonText({ task }) : task.taskId)
  display.note('The call goes on as a task. Follow it with: pannier task watch TARGET ID')
  return EXIT.ok
}
