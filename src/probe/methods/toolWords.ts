/** The words in which tools speak of something that is kept, or of something that lies elsewhere. Names and parameters are in lower case, with single spaces. */

export const SESSION_PARAMETER =
  /^(session|process|terminal|connection|context|browser|tab|window|instance|shell|pty|handle|debug|conversation|transport|kernel|sandbox|execution)s? (id|name|handle|index)$|^(pid|handle|session|uid|ref|tabid|pageidx|clientid|sessionid|processid)$/
export const JOB_PARAMETER =
  /^(job|task|run|scan|operation|request|search|sync|crawl|analysis|artifact) id$|^continuation tokens?$/
export const JOB_NAME =
  /\b(job|jobs|background|sync|scan) (status|list|cancel|results?|output|stop)\b|\b(list|cancel|poll|stop) (.* )?(jobs?|background)\b|\btask (status|cancel|list)\b/
export const PAGE_ACTION =
  /\b(navigate|click|screenshot|hover|scroll|type text|press key|fill|tap|swipe|goto|go back|go forward|keyboard|mouse|drag|go to|visit|double click|right click|long press|input text|select option|evaluate|wait for|find element|refresh page|reload page|press button)\b/
export const PAGE_PARAMETER =
  /^(selector|css selector|xpath|element|ref|uid|coordinates?|start x|full ?page|script|expression|viewport|wait until)$/
export const SETTER =
  /^(.* )?(set|select|switch|use|change|activate|choose|cd)( to)? (.* )?(default|defaults|current|active|working|directory|dir|cwd|workspace|project|account|database|db|context|profile|tab|device|board|window|root|path|team|tenant|organization|org|environment|env|target|mode|model|language|config|credentials|token|instance|channel|frame|page|vault)( .*)?$|^(.* )?cd$/
export const CURRENT =
  /\b(current(ly)?|active|opened|loaded|selected|focused|attached|connected|inspected|running) (web ?)?(page|tab|window|browser|document|session|conversation|project|workspace|directory|connection|database|device|board|game|frame|buffer|process|simulator|emulator|editor|scene|working directory|chat|canvas|drawing|diagram|notebook|kernel|debugger|mode|recording|selection|instance|plan|timer|track|room|vault|wallet|graph|workbook|sheet|simulation|scenario|round|turn|character|player|level|position|shell|terminal|tunnel|stream|repl|watcher|breakpoint)s?\b/i
export const BACKGROUND =
  /\b(background|long[- ]running|interactive|persistent) (process|processes|command|commands|job|jobs|shell|session|sessions|server|terminal|repl|task|tasks)\b|\b(was|were|previously|already) (started|launched|opened|spawned)\b|\bstarted (with|by|via) (the )?\S+ tool\b|\breturned by (the )?\S*(start|open|launch|connect|spawn|attach)/i
export const BACKGROUND_NAME =
  /\b(background|kill|terminate|spawn|interrupt|tunnel|port forward)\b|\b(read|get) (.* )?output\b|\b(send|write) (.* )?(input|stdin|keys)\b/
export const LIVE =
  /\b(list|get|show)\b.*\b(sessions|connections|processes|conversations|tabs|windows|terminals|tunnels|breakpoints|contexts|console logs|console messages|network requests|timers|watchers|streams|subscriptions|listeners|background|games|recordings|workers|forwards|shells|repls|kernels|servers running|running \w+|active \w+|open \w+)\b|\b(sessions|tabs|processes|connections|session|tab|process|tunnel|terminal) (list|select|new|close|switch|kill|send|read|status)\b/
export const CONNECT =
  /^(.* )?(re)?(connect|attach)( (to )?(db|database|server|device|host|client|mongodb|mysql|postgres|redis|.* (db|database|server|device|host|tab|browser|process|project)))?$/
export const CREDENTIAL =
  /^(host|hostname|password|connection string|connection url|uri|username|user|api key|key|token|access token|auth token|secret|cookies?|dsn|private key)$/
export const BEGINS_ACCESS =
  /^(.* )?(connect|init|initialize|login|log in|sign in|authenticate|auth|unlock|join)( .*)?$|^(.* )?(set|setup|use|configure|register) (.* )?(connection|credentials?|token|key|account|client|server|instance|auth)$/
export const IN_PROCESS =
  /\bin[- ]memory\b|\bprocess memory\b|\bin this (mcp )?(process|session|server)\b|\b(for|during|in|of|across) (the|this|your) (current |mcp |server )?(session|process)('s)?\b|\b(so far|since (the )?(server|process) (start|was started)|until (the )?(server|process) (restart|stop|end|exit))|\bback to zero\b|\bsubsequent (calls|requests|commands|operations|tool calls|queries)\b|\b(later|following|future|next|previous|earlier|prior) (calls?|tool calls?|commands?|quer(y|ies))\b|\b(previously|already) (loaded|captured|recorded|opened|created|parsed|indexed|registered|added)\b/i
export const THOUGHT = /^next ?\w+ ?needed$|^(thought|step|iteration|stage) ?number$|^total ?(thoughts|steps|stages)$/
export const PLAY =
  /\b(game|chess|simulation|scene|emulator|recording|playback|kernel|repl|canvas|elements|shapes|layers|dice|deck|round|player|quest|dungeon|character|inventory|tracks|sprite|notebook cell)\b/
export const IN_MEMORY =
  /\b(in|from|server[- ]side|process|local) memory\b|\bin-memory\b|\bthis (mcp )?(process|server process)\b|\bmcp (process|server)('s)? memory\b|\bkept (in|by) (the|this) (server|process)\b/i
/** One of several is chosen, and the next calls use it. */
export const CHOICE = /^(\w+ )?(select|switch|use|activate|choose|identify|impersonate)( to)?( \w+){0,2}$/
export const STATUS =
  /\b(get|show|check|view|read|inspect|current|server|game|session|browser|connection) (.* )?(state|status|session|info)$|^(status|state|whoami|pwd|get state)$/
export const STARTS = /\b(start|begin|launch|enable|run)\b/
export const STOPS = /\b(stop|end|finish|kill|disable)\b/
/** Things that a process itself keeps running. */
export const RUNNING =
  /\b(dev ?server|server|recording|record|watch|watcher|monitor|monitoring|simulation|timer|session|capture|trace|tracing|profil\w*|tunnel|proxy|stream|listener|emulator|app|game|debug\w*|journey|forward|forwarding|log|logging|playback|tracking)\b/
export const COMMAND =
  /\b(execute|run|exec|eval|evaluate)\b.*\b(command|code|script|js|javascript|python|shell|bash|cell|sql|query|expression)\b|^(run|exec|execute|shell|bash|eval)$/
/** Actions on something that the call does not name. */
export const UNNAMED =
  /\b(close|stop|end|quit|reset|clear|undo|redo|pause|resume|continue|snapshot|screenshot|disconnect|commit|rollback|next|back|forward|lock|logout|save|step|status|state|selection|current|active|console|logs?|cleanup)\b/
export const PLAIN =
  /^(.* )?(get|list|search|fetch|query|read|find|describe|lookup|update|delete|create|add|send|generate|convert|analyze|validate|check|calculate)( .*)?$/
export const RECORD =
  /\b(issues?|repositor(y|ies)|repos?|comments?|users?|teams?|members?|customers?|invoices?|emails?|orders?|products?|posts?|articles?|tickets?|categor(y|ies)|tags?|webhooks?|companies|company|contacts?|campaigns?|workflows?|records?|pull requests?|accounts?|prices?|news|weather|market|docs|documentation)\b/
