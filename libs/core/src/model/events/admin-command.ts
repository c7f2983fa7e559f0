/** The commands of `EventBusAdmin`. */
export type AdminCommandName =
  | 'register'
  | 'unregister'
  | 'start'
  | 'stop'
  | 'pause'
  | 'resume'
  | 'pause-tier'
  | 'resume-tier'
  | 'decide'
  | 'plan'
  | 'start-operation'
  | 'run-operation'
  | 'approve-operation'
  | 'cancel-operation'
  | 'replay'
  | 'mark'
  | 'purge';
