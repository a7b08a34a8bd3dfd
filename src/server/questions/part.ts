/** What a server has for calls that wait for people: the calls, the pages, and the tool that continues a call. */
import type { RoundSealer } from '../../state/seal/index.ts'
import type { Principal } from '../auth/authenticator.ts'
import type { Registry } from '../catalog/registry.ts'
import { questionsOf, type ServerOptions } from '../options.ts'
import type { RequestLimits } from '../limits/requestLimits.ts'
import type { Results } from '../results.ts'
import type { DeferredCalls, NoticeOutcome, NoticeSite, QuestionDesk, QuestionSite } from '../taskPort.ts'
import type { Pages, Programs } from '../http/endpoint.ts'
import { isLoginPath, isQuestionPath, QuestionLinks } from './links.ts'
import type { NamesOf, ServerQuestions } from './openQuestions.ts'
import { deferredToolEntries, deferredTools } from './tools.ts'

export interface QuestionsPart {
  readonly waiting: DeferredCalls
  readonly pages: Pages
  readonly programs: Programs
  readonly namesOf: NamesOf | undefined
  readonly notices: NoticeSite
  /** Whether the address of the pages is known. */
  readonly hasAddress: boolean
  /** Sets the address of the pages, if the options have none. */
  listensAt(url: string): void
}

export interface QuestionsPartOptions {
  readonly desk: QuestionDesk | undefined
  readonly sealer: RoundSealer
  readonly results: Results
  readonly registry: Registry
  /** Whether a caller may still call a tool. */
  readonly mayCall: (principal: Principal | undefined, tool: string) => boolean
  /** Absent if callers have no limits. */
  readonly limits: RequestLimits | undefined
  readonly questions: () => ServerQuestions
  /** Counts notices. */
  readonly telemetry: { notice(channel: string, outcome: NoticeOutcome): void } | undefined
}

/** Undefined if no call waits for people. */
export function openQuestionsPart(
  options: ServerOptions,
  { desk, sealer, results, registry, mayCall, limits, questions, telemetry }: QuestionsPartOptions,
): QuestionsPart | undefined {
  const settings = questionsOf(options)
  if (settings === undefined) return undefined
  if (desk === undefined) throw new TypeError('The option questions needs tasks of pannier/tasks or pannier/postgres.')
  let { url } = settings
  const { waitSeconds, namesOf, login, notify = [], askModel = false } = settings
  const links = new QuestionLinks(sealer, () => url, waitSeconds)
  const site: QuestionSite = {
    links,
    server: options.title ?? options.name,
    login: login && {
      options: login,
      sealer,
      returnUrl: () => links.returnUrl,
      isReturn: isLoginPath,
    },
  }
  const servePage = desk.pages(site)
  const tools = deferredTools(options.tasks?.asTools ?? false, askModel)
  const waiting = desk.deferred({
    tools,
    links,
    results,
    waitSeconds,
    mayCall,
    hasLogin: login !== undefined,
  })
  for (const entry of deferredToolEntries(waiting, tools)) registry.addTool(entry)
  const programs = desk.programs({
    questions,
    server: site.server,
    linkOf: ({ id, by }, principal) => links.of({ id, by }, desk.ownerOf({ principal }), login !== undefined),
  })
  return {
    waiting,
    programs: {
      has: (path) => programs.has(path),
      serve: async (request, principal, address) => {
        await limits?.enterPage(address, principal)
        return programs.serve(request, principal)
      },
    },
    pages: {
      has: (path) => isQuestionPath(path) || (site.login !== undefined && isLoginPath(path)),
      serve: async (request, address) => {
        await limits?.enterPage(address)
        return servePage(request)
      },
    },
    namesOf,
    notices: {
      channels: notify,
      server: site.server,
      // A question for others has a page only where people can log in.
      counted: (channel, outcome) => telemetry?.notice(channel, outcome),
      linkTo: async (linked) => (linked.owner === undefined && login === undefined ? undefined : links.to(linked)),
    },
    get hasAddress() {
      return url !== undefined
    },
    listensAt: (address) => {
      url ??= address
    },
  }
}
