import { Injectable, type CanActivate, type ExecutionContext } from '@nestjs/common';

/** Lets requests of this machine in. A real application asks who the user is. */
@Injectable()
export class LocalGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const { ip = '' } = context.switchToHttp().getRequest<{ ip?: string }>();
    return ['127.0.0.1', '::1', '::ffff:127.0.0.1'].includes(ip);
  }
}
